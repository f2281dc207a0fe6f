# Turns a file into C:   cmake -DFROM=page.html -DTO=page.c -DNAME=dsql_page -DHEADER=cli/page.h -P embed.cmake
# defines `const unsigned char NAME[]` and `const size_t NAME_len`, which the header declares.
file(READ ${FROM} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR length "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${TO} "#include \"${HEADER}\"\n\nconst unsigned char ${NAME}[] = {\n    ${bytes}};\nconst size_t ${NAME}_len = ${length};\n")

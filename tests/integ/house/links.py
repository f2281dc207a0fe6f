"""Every relative link and anchor in the project's pages leads somewhere, and so does every page and heading in docs/
that code, scripts and alerts name.   links.py ROOT
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
SOURCES = ["src", "include", "deploy", "examples", "scripts", "tests", "integrations/temporal", "cmake"]


def without_code(text):
    """Text in which neither fenced blocks nor code spans look like links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """The anchors of the headings, as GitHub makes them."""
    found = {}
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} (.*)$", text, flags=re.M):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = found[slug] = found.get(slug, -1) + 1
        if count:
            found[f"{slug}-{count}"] = 0
    return found


def trouble(place, anchor):
    """What is wrong with a link to this heading of this file; None if nothing is."""
    if not place.exists():
        return "there is no such file"
    if anchor and (place.suffix != ".md" or anchor not in anchors(place.read_text())):
        return "there is no such heading"
    return None


def links_of_page(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield target, (page.parent / path).resolve() if path else page, anchor


def pages_named_in(source):
    for path, anchor in re.findall(r"\b(docs/[\w./-]+\.md)(?:#([\w-]+))?", source.read_text(errors="replace")):
        yield path, ROOT / path, anchor


def main():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md"), *ROOT.glob("examples/*.md")]
    sources = [file for folder in SOURCES for file in (ROOT / folder).rglob("*")
               if file.is_file() and "vectors" not in file.parts]  # these speak of pages of others
    failures = 0
    for files, links in ((pages, links_of_page), (sources, pages_named_in)):
        for file in files:
            for target, place, anchor in links(file):
                why = trouble(place, anchor)
                if why:
                    failures += 1
                    print(f"{file.relative_to(ROOT)}: {target}: {why}")
    return 1 if failures or not pages or not sources else 0


sys.exit(main())

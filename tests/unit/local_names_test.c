/* What `dsql local` is told about itself: ARNs and keys. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local/local.h"
#include "support/test.h"

TEST(arns)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {
        {"arn:aws:iam::000000000000:user/local", true},
        {"arn:aws:iam::123456789012:role/app/service", true},
        {"arn:aws-cn:iam::123456789012:role/app", true},
        {"arn:aws:sts::123456789012:assumed-role/app/session", true},
        {"foo", false},
        {"", false},
        {"arn:aws:iam::12345678901:user/local", false},
        {"arn:aws:iam::12345678901x:user/local", false},
        {"arn:aws:iam::123456789012:user/", false},
        {"arn:aws:iam::123456789012:group/x", false},
        {"arn:aws:iam:us-east-1:123456789012:user/x", false},
        {"arn:aws:s3::123456789012:user/x", false},
        {"arn:gcp:iam::123456789012:user/x", false},
        {"arn:aws:iam::123456789012:user/o'x", false},
        {"arn:aws:iam::123456789012:user/a b", false},
        {"arn:aws:iam", false},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        assert_int_equal(dsql_local_is_arn(dsql_span_of(rows[i].text)), rows[i].is);
}

TEST(keys_are_parsed)
{
    static const struct {
        const char *text;
        enum dsql_rc rc;
    } rows[] = {
        {"access_key_id=AKIA\nsecret_access_key=s\n", DSQL_OK},
        {"secret_access_key=s\naccess_key_id=AKIA\nsession_token=t", DSQL_OK},
        {"", DSQL_INVALID},
        {"access_key_id=AKIA\n", DSQL_INVALID},
        {"secret_access_key=s\n", DSQL_INVALID},
        {"access_key_id=A KIA\nsecret_access_key=s\n", DSQL_INVALID},
        {"access_key_id=AKIA\nsecret_access_key=\n", DSQL_INVALID},
        {"access_key_id=AKIA\nsecret_access_key=s\nmore=1\n", DSQL_INVALID},
        {"nonsense", DSQL_INVALID},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_local_keys keys = {.access_key_id = "kept"};
        assert_int_equal(dsql_local_keys_parse(&keys, dsql_span_of(rows[i].text)), rows[i].rc);
        assert_string_equal(keys.access_key_id, rows[i].rc ? "kept" : "AKIA");
        dsql_local_keys_fini(&keys);
    }
}

TEST(keys_survive_a_file_that_only_its_owner_reads)
{
    struct dsql_folder folder;
    struct dsql_local_keys made = {.access_key_id = ""}, read = {.access_key_id = ""};
    struct dsql_err err;
    struct stat st;
    assert_int_equal(dsql_folder_open(&folder, NULL, &err), DSQL_OK);
    assert_int_equal(dsql_local_keys_make(&made, &err), DSQL_OK);
    assert_int_equal(dsql_secret_set(&made.session_token, DSQL_SPAN("tok/en==")), DSQL_OK);
    assert_int_equal(dsql_local_keys_write(&made, &folder, &err), DSQL_OK);
    assert_int_equal(fstatat(folder.dir, "keys", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(dsql_local_keys_read(&read, &folder, &err), DSQL_OK);
    assert_string_equal(read.access_key_id, made.access_key_id);
    assert_true(dsql_secret_eq(&read.secret_access_key, &made.secret_access_key));
    assert_true(dsql_secret_eq(&read.session_token, &made.session_token));
    dsql_folder_unlink(&folder, "keys");
    assert_int_equal(dsql_local_keys_read(&read, &folder, &err), DSQL_NOT_FOUND);
    dsql_local_keys_fini(&made);
    dsql_local_keys_fini(&read);
    dsql_folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arns),
        cmocka_unit_test(keys_are_parsed),
        cmocka_unit_test(keys_survive_a_file_that_only_its_owner_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/s3/settings.h"

using Keys = std::vector<std::string>;

static int keep(void *context, const char *key)
{
    static_cast<Keys *>(context)->push_back(key);
    return 0;
}

static rpmi_s3_page page_of(Keys *keys, bool folders = false)
{
    rpmi_s3_page page = {};

    page.visit = keep;
    page.context = keys;
    page.folders = folders;
    return page;
}

static int get(const std::string &xml, rpmi_s3_page *page)
{
    return rpmi_s3_page_get(xml.data(), xml.size(), page);
}

static std::string wrapped(const std::string &xml)
{
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://a/\">" +
           xml + "</ListBucketResult>";
}

const std::string LAST = "<IsTruncated>false</IsTruncated>";

TEST_CASE("listing: keys and folders are visited, page by page", "[unit]")
{
    Keys keys;
    rpmi_s3_page page = page_of(&keys);

    REQUIRE(get(wrapped("<Name>b</Name><Prefix>x</Prefix><IsTruncated>true</IsTruncated>\n"
                        "<Contents><Key>a</Key><Owner><ID>i</ID></Owner><Size>1</Size></Contents>"
                        "<Contents><ETag>&quot;e&quot;</ETag><Key>b&amp;c</Key></Contents>"
                        "<CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes>"
                        "<NextContinuationToken>t/+=</NextContinuationToken>"),
                &page) == 0);
    CHECK(keys == Keys{ "a", "b&c" });
    CHECK(page.more);
    CHECK(std::string(page.token) == "t/+=");
    REQUIRE(get(wrapped("<Contents><Key>c</Key></Contents>" + LAST), &page) == 0);
    CHECK(keys == Keys{ "a", "b&c", "c" });
    CHECK_FALSE(page.more);
    keys.clear();
    page = page_of(&keys, true);
    REQUIRE(
        get(wrapped(LAST + "<Contents><Key>a</Key></Contents><CommonPrefixes><Prefix>d/</Prefix>"
                           "</CommonPrefixes>"),
            &page) == 0);
    CHECK(keys == Keys{ "d/" });
}

TEST_CASE("listing: an answer that is no whole list is refused", "[unit]")
{
    const std::string one = "<Contents><Key>m</Key></Contents>";
    const std::string more = "<IsTruncated>true</IsTruncated>";
    const std::pair<std::string, std::string> wrong[] = {
        { "", "no whole XML" },
        { "hello", "no whole XML" },
        { wrapped(one + LAST).substr(0, 120), "no whole XML" },
        { "<html><body/></html>", "the answer is no list, but <html>" },
        { "<Error><Code>SlowDown</Code></Error>", "the answer is no list, but <Error>" },
        { wrapped(one), "the list has no <IsTruncated>" },
        { wrapped(one + more), "its <NextContinuationToken> is missing" },
        { wrapped(more + "<NextContinuationToken>old</NextContinuationToken>"),
          "its <NextContinuationToken> is that of this page" },
        { wrapped(one + one + LAST), "it lists 'm' behind 'm'" },
        { wrapped(one + "<Contents><Key>l</Key></Contents>" + LAST), "it lists 'l' behind 'm'" },
        { wrapped("<Contents><Key>a</Key></Contents>" + LAST), "it lists 'a' behind 'k'" },
        { wrapped("<Contents><Key></Key></Contents>" + LAST), "it lists '' behind 'k'" },
        { wrapped("<Contents><Key>" + std::string(1025, 'x') + "</Key></Contents>" + LAST),
          "<Key> has more than 1024 characters" },
        { "<!DOCTYPE x [<!ENTITY a \"b\">]>" + wrapped(LAST).substr(39), "document type" },
    };

    for (const auto &[xml, why] : wrong) {
        Keys keys;
        rpmi_s3_page page = page_of(&keys);

        INFO(xml);
        strcpy(page.last, "k");
        strcpy(page.token, "old");
        CHECK(get(xml, &page) == RPM_E_IO);
        INFO(rpm_last_error());
        CHECK(said(why));
    }
    std::string deep = LAST;
    for (int i = 0; i < 20; i++)
        deep = "<a>" + deep + "</a>";
    rpmi_s3_page page = page_of(nullptr);
    CHECK(get(wrapped(deep), &page) == RPM_E_IO);
    CHECK(said("deeper than 16 elements"));
}

TEST_CASE("listing: the error of a visitor ends a list", "[unit]")
{
    std::string xml =
        wrapped("<Contents><Key>a</Key></Contents><Contents><Key>b</Key></Contents>" + LAST);
    rpmi_s3_page page = {};

    page.visit = [](void *, const char *) { return -EDOM; };
    CHECK(get(xml, &page) == -EDOM);
    CHECK(std::string(page.last) == "a");
}

TEST_CASE("listing: the code of an error is taken, and nothing else", "[unit]")
{
    const std::pair<std::string, std::string> answers[] = {
        { "<Error><Code>SlowDown</Code><Message>m</Message></Error>", "SlowDown" },
        { "<Error><Code>SlowDown</Code><Mess", "SlowDown" }, // cut off
        { "<Error><Code>a secret=x</Code></Error>", "" },
        { "<Error><Code>" + std::string(64, 'c') + "</Code></Error>", "" },
        { "<Other><Code>SlowDown</Code></Other>", "" },
        { "no XML", "" },
        { "", "" },
    };

    for (const auto &[xml, expected] : answers) {
        char code[RPMI_S3_CODE_CHARS + 1];

        rpmi_s3_code_get(xml.data(), xml.size(), code);
        CHECK(code == expected);
    }
}

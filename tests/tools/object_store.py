#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""object_store.py PORT_FILE [--tls CERT KEY]: an object store in memory with one bucket, "bucket", for tests.

It checks the signature of each request (AWS Signature Version 4) against the key ID and the secret of its environment,
from the standard's text and not by the code under test, and the checksum of each body. A list has three keys a page.
With a file FAULT beside PORT_FILE it misbehaves as the file says: "away" (503 to all), "slow" (an answer a second late),
"cut" (the bodies of GET end early), "lie" (a list names a key that is not there). Prints a line for each request.
"""
import argparse
import hashlib
import hmac
import http.server
import os
import ssl
import sys
import threading
import urllib.parse
from xml.sax.saxutils import escape

PAGE = 3
REGION = "us-east-1"
HELD = {}
LOCK = threading.Lock()


def signature(method, path, query, headers, signed, day, stamp, secret):
    """What a request must be signed with, from its parts."""
    pairs = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([
        method, urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"),
        "&".join(f"{urllib.parse.quote(name, safe='-_.~')}={urllib.parse.quote(value, safe='-_.~')}" for name, value in pairs),
        "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed), ";".join(signed),
        headers["x-amz-content-sha256"]])
    scope = f"{day}/{REGION}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for word in scope.split("/"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece: a second one would wait for an acknowledgement
    fault_file = None

    def log_message(self, format, *arguments):  # pylint: disable=redefined-builtin
        pass

    def fault(self):
        try:
            with open(self.fault_file, encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def answer(self, status, body=b"", **headers):
        print(self.command, self.path, status, flush=True)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.command == "GET" and self.fault() == "cut" and len(body) > 1 and "list-type" not in self.path:
            self.wfile.write(body[:len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)

    def fail(self, status, code):
        self.answer(status, b"" if self.command == "HEAD" else f"<Error><Code>{code}</Code></Error>".encode())

    def refusal(self, body):
        """Why the request is not signed as it must be; None: it is."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        words = headers.get("authorization", "").replace(",", " ").split()
        fields = dict(word.split("=", 1) for word in words[1:])
        if not words or words[0] != "AWS4-HMAC-SHA256":
            return "AccessDenied"
        key, day, region, service, _ = fields["Credential"].split("/")
        if key != os.environ["AWS_ACCESS_KEY_ID"] or region != REGION or service != "s3":
            return "InvalidAccessKeyId"
        signed = fields["SignedHeaders"].split(";")
        needed = {"host"} | {name for name in headers if name.startswith("x-amz-")}
        path, _, query = self.path.partition("?")
        if not needed <= set(signed) or fields["Signature"] != signature(
                self.command, path, query, headers, signed, day, headers["x-amz-date"],
                os.environ["AWS_SECRET_ACCESS_KEY"]):
            return "SignatureDoesNotMatch"
        if hashlib.sha256(body).hexdigest() != headers["x-amz-content-sha256"]:
            return "XAmzContentSHA256Mismatch"
        return None

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        why = self.refusal(body)
        if why is not None:
            self.fail(400 if why.startswith("XAmz") else 403, why)
            return
        if self.fault() == "away":
            self.fail(503, "SlowDown")
            return
        if self.fault() == "slow":
            threading.Event().wait(1)
        path, _, query = self.path.partition("?")
        if path.split("/")[1] != "bucket":
            self.fail(404, "NoSuchBucket")
            return
        with LOCK:
            self.serve(path[len("/bucket/"):], dict(urllib.parse.parse_qsl(query)), body)

    do_GET = do_PUT = do_HEAD = do_DELETE = handle_any

    def serve(self, key, query, body):
        if not key:
            self.list(query)
        elif self.command == "PUT":
            if self.headers.get("If-None-Match") == "*" and key in HELD:
                self.fail(412, "PreconditionFailed")
                return
            HELD[key] = body
            self.answer(200)
        elif self.command == "DELETE":
            HELD.pop(key, None)
            self.answer(204)
        elif key not in HELD:
            self.fail(404, "NoSuchKey")
        elif "Range" in self.headers:
            first, last = (int(each) for each in self.headers["Range"][len("bytes="):].split("-"))
            part = HELD[key][first:last + 1]
            if not part:
                self.fail(416, "InvalidRange")
                return
            self.answer(206, part, Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(HELD[key])}")
        else:
            self.answer(200, HELD[key])

    def list(self, query):
        prefix = query.get("prefix", "")
        found = set()
        keys = set(HELD)
        if self.fault() == "lie" and "delimiter" not in query and prefix:
            keys.add(prefix + "0000000000000000-7000000000000000.seg")
        for key in keys:
            rest = key[len(prefix):]
            if key.startswith(prefix):
                found.add(prefix + rest.split("/")[0] + "/" if "delimiter" in query and "/" in rest else key)
        behind = max(query.get("continuation-token", ""), query.get("start-after", ""))
        left = sorted(each for each in found if each > behind)
        page = left[:PAGE]
        xml = "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" if each.endswith("/") else
                      f"<Contents><Key>{escape(each)}</Key></Contents>" for each in page)
        more = len(left) > PAGE
        xml += f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        if more:
            xml += f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"
        self.answer(200, f"<ListBucketResult>{xml}</ListBucketResult>".encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    parser.add_argument("port_file")
    options = parser.parse_args()
    Store.fault_file = os.path.join(os.path.dirname(options.port_file), "FAULT")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    server.daemon_threads = True
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*options.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(options.port_file + ".new", "w", encoding="utf-8") as file:
        file.write(f"http{'s' if options.tls else ''}://127.0.0.1:{server.server_port}\n")
    os.rename(options.port_file + ".new", options.port_file)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())

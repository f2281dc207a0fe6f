"""Pages of Temporal's Web UI in Chromium, for ui.sh.

    ui.py URL PROFILE PICTURE <PAGES

URL is the UI server's, PROFILE a folder for Chromium, PICTURE a file for what the first page looks like, or empty. Each line of
PAGES is a JSON list: a page, then the texts that it must show; one that begins with '-' must not be there. A page is looked
at until it is so. Prints the queries that the pages sent to visibility, and how many requests there were; each must have
been answered with 200.
"""
import base64
import json
import os
import subprocess
import sys
import time
import urllib.parse

DEADLINE_S = 180


class Browser:
    """Chromium by its pipe: messages are JSON and end with a zero byte."""

    def __init__(self, profile):
        to_read, self.to = os.pipe()
        self.of, of_write = os.pipe()
        for fd in (to_read, of_write):
            os.set_inheritable(fd, True)
        # Chromium takes its pipe from the descriptors 3 and 4.
        command = [
            "bash", "-c", 'exec "${@:3}" 3<&"$1" 4>&"$2"', "bash", str(to_read), str(of_write),
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
            "--window-size=1280,720", f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank",
        ]
        self.process = subprocess.Popen(command, pass_fds=(to_read, of_write), stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(of_write)
        self.left, self.number, self.session = b"", 0, None
        self.requests = {}  # request id: [URL, status]
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self.call("Network.enable")
        self.call("Page.enable")

    def message(self):
        while b"\0" not in self.left:
            more = os.read(self.of, 1 << 16)
            if not more:
                sys.exit("Chromium has ended")
            self.left += more
        text, self.left = self.left.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            said = self.message()
            if said.get("id") == self.number:
                if "error" in said:
                    sys.exit(f"{method}: {said['error']}")
                return said["result"]
            self.hear(said.get("method"), said.get("params", {}))

    def hear(self, method, event):
        if method == "Network.requestWillBeSent" and "waitNewEvent" not in event["request"]["url"]:  # those wait
            self.requests[event["requestId"]] = [event["request"]["url"], None]
        elif method == "Network.responseReceived" and event["requestId"] in self.requests:
            self.requests[event["requestId"]][1] = event["response"]["status"]
        elif method == "Network.loadingFailed" and event.get("canceled"):  # the page was left
            self.requests.pop(event["requestId"], None)

    def text(self):
        found = self.call("Runtime.evaluate", expression="document.body ? document.body.innerText : ''", returnByValue=True)
        return found["result"].get("value", "")


def wrong(shown, texts):
    shown = " ".join(shown.lower().split())  # styles turn some into capitals
    return [t for t in texts if (t[1:].lower() in shown if t.startswith("-") else t.lower() not in shown)]


def show(browser, url, page, texts):
    """The page says what it must, and all that it asked for is answered."""
    browser.call("Page.navigate", url=f"{url}/namespaces/default/{page}")
    until = time.monotonic() + DEADLINE_S
    while True:
        shown = browser.text()
        open_ones = [u for u, status in browser.requests.values() if "/api/v1/" in u and status is None]
        if not (missing := wrong(shown, texts)) and not open_ones:
            return
        if time.monotonic() > until:
            sys.exit(f"{page}: {missing} is not as it should be, {open_ones} not answered; the page says: {shown[:3000]}")
        time.sleep(0.5)


def main(url, profile, picture):
    browser = Browser(profile)
    asked, requests = set(), 0
    for line in sys.stdin:
        page, *texts = json.loads(line)
        browser.requests = {}
        print(f"    {urllib.parse.unquote(page)}", flush=True)
        show(browser, url, page, texts)
        if picture:
            with open(picture, "wb") as file:
                file.write(base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"]))
            picture = ""
        for request, status in browser.requests.values():
            if "/api/v1/" not in request:
                continue
            requests += 1
            if status != 200:
                sys.exit(f"{page}: {request} was answered with {status}")
            parts = urllib.parse.urlparse(request)
            for query in urllib.parse.parse_qs(parts.query).get("query", []):
                asked.add((parts.path.split("/default/", 1)[-1], query))
    browser.process.terminate()
    browser.process.wait()
    for path, query in sorted(asked):
        print(f"    {path}: {query}")
    print(f"{requests} requests were answered")


main(*sys.argv[1:])

"""A page of another origin, in the browser of a person who has the console open, gets nothing and changes nothing.

    MISTKIT=.build/debug/mistkit python3 Tests/Console/hostile.py
"""

import functools
import http.server
import json
import os
import shutil
import tempfile
import threading
import time
import unittest
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from emulator import Client, Emulator, note

CONTAINER = "iCloud.com.example.desktop"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class HostilePage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hostile-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.emulator = Emulator(self.folder)
        self.addCleanup(self.emulator.stop)
        client = Client(self.emulator, CONTAINER)
        client.save([note("own", "A note of the person", 5)])
        handler = functools.partial(Quiet, directory=os.path.dirname(os.path.abspath(__file__)))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-popup-blocking",
                         "--host-resolver-rules=MAP rebound.example 127.0.0.1"):
            options.add_argument(argument)
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.addCleanup(self.driver.quit)
        # The person opens the console, which sets the cookie of the session.
        self.driver.get(self.emulator.console)
        self.assertTrue(self.own_page()["isOpen"])

    def own_page(self):
        script = "const done = arguments[0]; fetch('/_emulator/page/session').then(r => r.json()).then(done)"
        return self.driver.execute_async_script(script)

    def state(self):
        """Everything that an attempt could change."""
        request = functools.partial(self.emulator.request, "GET")
        records = Client(self.emulator, CONTAINER).call("records/query", {"query": {"recordType": "Note"}, "zoneWide": True})["records"]
        schema = f"/_emulator/containers/{CONTAINER}/development/schema"
        return {"users": request("/_emulator/users"), "faults": request("/_emulator/faults"), "snapshots": request("/_emulator/snapshots"),
                "schema": request(schema), "records": [(r["recordName"], r["recordChangeTag"]) for r in records]}

    def attack(self, host: str):
        before = self.state()
        query = urllib.parse.urlencode({"target": self.emulator.address, "container": CONTAINER})
        self.driver.get(f"http://{host}:{self.server.server_port}/hostile.html?{query}")
        self.driver.execute_script("run()")
        end = time.monotonic() + 40
        while not self.driver.execute_script("return window.finished === true"):
            self.assertLess(time.monotonic(), end, "the page did not finish")
            time.sleep(0.1)
        results = self.driver.execute_script("return results")
        self.assertGreaterEqual(len(results), 12)
        for name, got in results.items():
            with self.subTest(f"{host}: {name}"):
                self.assertIsNone(got)
        # The frame showed no page of the console.
        for frame in self.driver.find_elements("css selector", "iframe[src]"):
            self.driver.switch_to.frame(frame)
            self.assertEqual(self.driver.execute_script("return document.querySelectorAll('#side, #main').length"), 0)
            self.driver.switch_to.default_content()
        self.assertEqual(self.state(), before)

    def test_a_page_of_another_site(self):
        self.attack("localhost")

    def test_a_page_of_the_same_site_at_another_port(self):
        # Cookies do not know ports: the browser sends the session's cookie with these requests.
        self.attack("127.0.0.1")

    def test_a_name_that_is_bound_to_this_machine(self):
        port = urllib.parse.urlsplit(self.emulator.address).port
        self.driver.get(f"http://rebound.example:{port}/")
        text = self.driver.execute_script("return document.documentElement.innerText")
        self.assertNotIn("console", text.lower().replace("foreign", ""))
        script = """const done = arguments[0]
          Promise.all(['/_emulator/page/session', '/_emulator/users', '/'].map(p => fetch(p).then(r => r.status, () => 0))).then(done)"""
        self.assertEqual(set(self.driver.execute_async_script(script)) - {0, 403, 421}, set(), json.dumps(text[:300]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The console before a service without an administration, such as Apple's: it shows what the protocol has, hides what is not there, and
the browser never receives a credential.

    MISTKIT=.build/debug/mistkit python3 Tests/Console/service.py
"""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

from browser import Browser
from emulator import Client, Emulator, note, value

CONTAINER = "iCloud.com.example.desktop"


class ServiceWithoutAdministration(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="service-")
        with open(os.path.join(cls.folder, "key.pub"), "w", encoding="utf-8") as file:
            subprocess.run([os.environ["MISTKIT"], "auth", "keygen", "--output", os.path.join(cls.folder, "key.pem")], stdout=file, stderr=subprocess.DEVNULL, check=True)
        cls.emulator = Emulator(cls.folder, "--public-key", os.path.join(cls.folder, "key.pub"))
        with open(cls.emulator.log.name, encoding="utf-8") as file:
            banner = file.read()
        cls.api_token = re.search(r"MISTKIT_API_TOKEN='?([0-9a-f]{64})", banner).group(1)
        cls.web_token = re.search(r"MISTKIT_WEB_AUTH_TOKEN='([^']+)'", banner).group(1)
        cls.key_id = re.search(r"key\s+([0-9a-f]{64})", banner).group(1)
        client = Client(cls.emulator, CONTAINER)
        client.zone("Notes")
        client.save([note(f"note-{i}", f"Note {i}", i) for i in range(5)], "Notes")
        client.save([note("public-note", "For everyone", 5)], scope="public")
        token = client.call("assets/upload", {"zoneID": {"zoneName": "Notes"}, "tokens": [{"recordName": "note-1", "recordType": "Note", "fieldName": "file"}]})["tokens"][0]
        with urllib.request.urlopen(urllib.request.Request(token["url"], b"The contents of a file.", method="POST")) as reply:
            client.save([{"recordName": "note-1", "recordType": "Note", "fields": {"file": value(json.load(reply)["singleFile"], "ASSETID")}}], "Notes")
        client.call("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {"subscriptionID": "all-notes", "subscriptionType": "zone", "zoneID": {"zoneName": "Notes"}}}]})

    @classmethod
    def tearDownClass(cls):
        cls.emulator.stop()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def console(self, *options: str) -> Browser:
        """`mistkit console` in a folder that knows nothing of the emulator."""
        folder = tempfile.mkdtemp(prefix="console-", dir=self.folder)
        log = open(os.path.join(folder, "console.txt"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        command = [os.environ["MISTKIT"], "console", "--port", "0", "--server-url", self.emulator.address, "--container", CONTAINER, "--data-folder", os.path.join(folder, "data"), *options]
        environment = {name: text for name, text in os.environ.items() if not name.startswith("MISTKIT_")}
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=environment)
        self.addCleanup(process.wait, 20)
        self.addCleanup(process.terminate)
        end = time.monotonic() + 20
        while True:
            with open(log.name, encoding="utf-8") as file:
                text = file.read()
            found = re.search(r"(http://\S+/\?secret=\S+)", text)
            if found:
                break
            self.assertTrue(process.poll() is None and time.monotonic() < end, f"the console did not start:\n{text}")
            time.sleep(0.05)
        browser = Browser(1280, False)
        self.addCleanup(browser.close)
        browser.driver.execute_cdp_cmd("Network.enable", {})
        browser.driver.get(found.group(1))
        browser.wait("the sections", lambda: browser.run("return document.querySelector('#side .sections') !== null"))
        return browser

    def received(self, browser: Browser) -> str:
        """All that the browser sent and received, as text."""
        texts = []
        for entry in browser.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.requestWillBeSentExtraInfo", "Network.responseReceived", "Network.responseReceivedExtraInfo"):
                texts.append(json.dumps(message["params"]))
            if message["method"] == "Network.loadingFinished":
                try:
                    body = browser.driver.execute_cdp_cmd("Network.getResponseBody", {"requestId": message["params"]["requestId"]})
                except Exception:  # The body of a request without one.
                    continue
                texts.append(base64.b64decode(body["body"]).decode("latin-1") if body["base64Encoded"] else body["body"])
        return "\n".join(texts)

    def test_as_a_user(self):
        b = self.console("--api-token", self.api_token, "--web-auth-token", self.web_token)
        sections = b.run("return [...document.querySelectorAll('#side .sections > li > a')].map(a => a.innerText.trim())")
        self.assertEqual(sections, ["Records", "Zones and changes", "Shares", "Subscriptions"])
        # The types are not told; the changes of a zone tell them.
        b.go("zones/Notes")
        b.sees("5 changes")
        b.go("records/Note?zone=Notes&record=note-1")
        b.wait("the records", lambda: b.run("return document.querySelectorAll('virtual-table .row:not([hidden])').length") == 5)
        b.sees("title", where=".table-head")
        b.sees("23 B", where=".panel")
        # The file comes through the console, too.
        text = b.driver.execute_async_script("""const done = arguments[0]
          fetch('/database/1/iCloud.com.example.desktop/development/private/records/lookup', {method: 'POST', headers: {'X-MistKit-Act-As': 'user'}, body: JSON.stringify({zoneID: {zoneName: 'Notes'}, records: [{recordName: 'note-1'}]})})
            .then(r => r.json()).then(r => fetch(r.records[0].fields.file.value.downloadURL.replace('${f}', 'file'))).then(r => r.text()).then(done, e => done(String(e)))""")
        self.assertEqual(text, "The contents of a file.")
        b.use("Edit")
        field = b.run("return document.querySelector('[data-field=title] textarea')")
        b.enter(field, "Edited through the console")
        b.use("Save")
        b.sees("note-1 is saved.")
        for section, text in (("shares", "This user shares nothing"), ("subscriptions", "all-notes"), ("zones", "Notes")):
            b.go(section)
            b.sees(text)
        everything = self.received(b)
        self.assertIn("Edited through the console", everything, "the test reads what the browser received")
        for secret in (self.api_token, self.web_token, urllib.request.quote(self.web_token, safe="")):
            self.assertNotIn(secret, everything)
        self.assertEqual(b.violations(), [])

    def test_with_a_server_key_read_only(self):
        pem = os.path.join(self.folder, "key.pem")
        b = self.console("--key-id", self.key_id, "--private-key-file", pem, "--read-only")
        b.go("records/Note?scope=public")
        b.wait("the record", lambda: b.run("return document.querySelector('virtual-table .row:not([hidden]) .cell.key')?.textContent") == "public-note")
        b.sees("Read only", where=".strip")
        self.assertFalse(b.has("New"), "writes are not offered")
        status = b.driver.execute_async_script("""const done = arguments[0]
          fetch('/database/1/iCloud.com.example.desktop/development/public/records/modify', {method: 'POST', headers: {'X-MistKit-Act-As': 'server'}, body: JSON.stringify({operations: [{operationType: 'forceDelete', record: {recordName: 'public-note'}}]})}).then(r => done(r.status))""")
        self.assertEqual(status, 403)
        everything = self.received(b)
        with open(pem, encoding="utf-8") as file:
            key = "".join(line for line in file.read().splitlines() if "---" not in line)
        for secret in (self.key_id, key[:40], "PRIVATE KEY", "SignatureV1"):
            self.assertNotIn(secret, everything)


class WithAPassword(unittest.TestCase):
    """An emulator that other machines reach."""

    def test_the_page_asks_for_the_password(self):
        folder = tempfile.mkdtemp(prefix="password-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        emulator = Emulator(folder, "--host", "0.0.0.0", "--console-password", "correct horse battery")
        self.addCleanup(emulator.stop)
        Client(emulator, CONTAINER).save([note("own", "Mine", 1)])
        b = Browser(1280, False)
        self.addCleanup(b.close)
        b.driver.get(emulator.address + "/#/records/Note")
        b.sees("This console is locked")
        status = "const done = arguments[0]; fetch('/_emulator/users').then(r => done(r.status))"
        self.assertEqual(b.driver.execute_async_script(status), 401)
        self.assertEqual(b.violations(), [])
        b.enter("Password", "wrong")
        b.keys("\ue007")
        b.wait("the refusal", lambda: b.run("return document.querySelector('.problem-text').textContent") != "")
        self.assertEqual(b.driver.execute_async_script(status), 401)
        b.enter("Password", "correct horse battery")
        b.use("Open", "button")
        b.wait("the record", lambda: b.run("return document.querySelector('virtual-table .row:not([hidden]) .cell.key')?.textContent") == "own")
        self.assertEqual(b.driver.execute_async_script(status), 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)

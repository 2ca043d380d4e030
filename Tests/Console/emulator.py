"""The emulator behind the console, and the clients beside it."""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request

OWN = object()


class Emulator:
    """`mistkit emulator` in a folder of its own; or one that runs already, at CONSOLE_ADDRESS behind a proxy of a developer."""

    def __init__(self, folder: str, *options: str):
        self.process = None
        given = os.environ.get("CONSOLE_ADDRESS")
        if given and not options:
            self.console, self.address, self.secret = given, given.rstrip("/"), None
            return
        self.folder = os.path.join(folder, "data")
        self.log = open(os.path.join(folder, "emulator.txt"), "w+", encoding="utf-8")
        command = [os.environ["MISTKIT"], "emulator", "--port", "0", "--data-folder", self.folder, "--container", "iCloud.com.example.desktop", *options]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 20
        while True:
            self.log.flush()
            with open(self.log.name, encoding="utf-8") as file:
                text = file.read()
            found = re.search(r"console\s+(http://\S+)", text)
            if found and "Ctrl-C" in text:
                break
            assert self.process.poll() is None and time.monotonic() < end, f"the emulator did not start:\n{text}"
            time.sleep(0.05)
        self.console = found.group(1)
        self.address = re.search(r"at (http://\S+)", text).group(1).replace("0.0.0.0", "127.0.0.1")
        name = next(name for name in os.listdir(self.folder) if name.startswith("administration-"))
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            self.secret = json.load(file)["secret"]

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(20)
            self.log.close()

    def request(self, method: str, path: str, body=None, act_as: str | None = None, kind: str = "application/json"):
        data = None if body is None else body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        if data is not None:
            request.add_header("Content-Type", kind)
        if self.secret:
            request.add_header("Authorization", f"Bearer {self.secret}")
        if act_as:
            request.add_header("X-MistKit-Act-As", act_as)
        try:
            with urllib.request.urlopen(request) as reply:
                text = reply.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()[:500]}") from None
        return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()


class Client:
    """Another client of a container, such as a program that runs meanwhile."""

    def __init__(self, emulator: Emulator, container: str, act_as: str = "user", environment: str = "development"):
        self.emulator, self.container, self.act_as, self.environment = emulator, container, act_as, environment

    def call(self, endpoint: str, body, scope: str = "private"):
        path = f"/database/1/{self.container}/{self.environment}/{scope}/{endpoint}"
        return self.emulator.request("POST", path, body, self.act_as)

    def zone(self, name: str):
        self.call("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": name}}}]})

    def save(self, records: list, zone: str | None = None, scope: str = "private", operation: str = "forceUpdate"):
        saved = []
        for start in range(0, len(records), 200):
            batch = [{"operationType": operation, "record": record} for record in records[start : start + 200]]
            reply = self.call("records/modify", {"operations": batch, **({"zoneID": {"zoneName": zone}} if zone else {})}, scope)
            failed = [item for item in reply["records"] if "serverErrorCode" in item]
            assert not failed, failed[0]
            saved += reply["records"]
        return saved

    def lookup(self, name: str, zone: str | None = None, scope: str = "private"):
        reply = self.call("records/lookup", {"records": [{"recordName": name}], **({"zoneID": {"zoneName": zone}} if zone else {})}, scope)
        return reply["records"][0]


def value(content, kind: str):
    return {"value": content, "type": kind}


def note(name: str, title: str, rating: int, **fields):
    return {"recordName": name, "recordType": "Note", "fields": {"title": value(title, "STRING"), "rating": value(rating, "INT64"), **fields}}

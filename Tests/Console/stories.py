"""What a person does in the console, at 1280 pixels by mouse and at 390 by keyboard alone.

    MISTKIT=.build/debug/mistkit python3 Tests/Console/stories.py [--pictures FOLDER] [STORY …]
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from browser import Browser, Keys
from emulator import Client, Emulator, note, value

MANY = int(os.environ.get("CONSOLE_MANY", 100_000))
settings = argparse.Namespace(pictures=None)


class Stories:
    width: int
    keyboard: bool
    container: str
    family: str

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="console-")
        cls.emulator = Emulator(cls.folder)
        cls.other = Client(cls.emulator, cls.container)
        cls.ann = cls.emulator.request("POST", "/_emulator/users", {"givenName": "Ann", "familyName": cls.family, "emailAddress": f"ann{cls.width}@example.com"})["userRecordName"]
        cls.browser = Browser(cls.width, cls.keyboard, settings.pictures)
        cls.browser.driver.get(cls.emulator.console)
        cls.browser.wait("the sections", lambda: cls.browser.run("return document.querySelector('#side .sections') !== null"))
        cls.her = f"Ann {cls.family}"
        cls.other.zone("Notes")
        cls.other.save([note(f"note-{i}", f"Note {i}", i % 5 + 1) for i in range(12)], "Notes")
        cls.filling = None
        if cls.width > 500:
            cls.filling = threading.Thread(target=cls.fill, daemon=True)
            cls.filling.start()

    @classmethod
    def fill(cls):
        many = Client(cls.emulator, "iCloud.com.example.many")
        many.zone("Many")
        many.save([{"recordName": f"line-{i:06d}", "recordType": "Line", "fields": {"n": value(i, "INT64")}} for i in range(MANY)], "Many", operation="create")

    @classmethod
    def tearDownClass(cls):
        if cls.filling:
            cls.filling.join()
        cls.browser.close()
        cls.emulator.stop()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def setUp(self):
        self.began = time.monotonic()

    def tearDown(self):
        b = self.browser
        print(f"({time.monotonic() - self.began:.1f} s) ", end="", file=sys.stderr)
        if self._outcome.result.failures or self._outcome.result.errors:
            b.shot(f"failed-{self._testMethodName}")
        b.run("for (const d of document.querySelectorAll('dialog[open]')) d.close(); document.querySelectorAll('.message').forEach(m => m.remove())")
        self.assertEqual(b.complaints(), [])

    def show(self, path: str, **view):
        """Opens an address of the console, and looks at the top of it as a fresh page has it."""
        b = self.browser
        query = "&".join(f"{k}={urllib.request.quote(str(v))}" for k, v in {"container": self.container, **view}.items())
        b.run("document.activeElement.blur()")
        b.go(f"{path}?{query}")

    def rows(self) -> list[str]:
        """The names of the rows that the table has, as far as they are drawn."""
        script = """return [...document.querySelectorAll('virtual-table .row:not([hidden])')].sort((a, b) => a.dataset.index - b.dataset.index)
          .map(row => row.querySelector('.cell.key').textContent)"""
        return self.browser.run(script)

    def count(self) -> str:
        return self.browser.run("return document.querySelector('#record-count')?.textContent ?? ''")

    def panel_is(self, name: str):
        self.browser.wait(f"the record {name}", lambda: self.browser.run("return document.querySelector('.panel h1')?.textContent") == name)

    def open_row(self, name: str):
        b = self.browser
        at = b.wait(f"the row {name}", lambda: name in self.rows()) and self.rows().index(name)
        row = b.run("return [...document.querySelectorAll('virtual-table .row:not([hidden])')].find(r => r.querySelector('.cell.key').textContent === arguments[0])", name)
        if b.keyboard:
            b.focus(b.run("return document.querySelector('.table-viewport')"))
            b.keys(Keys.HOME, *[Keys.ARROW_DOWN] * at, Keys.ENTER)
        else:
            row.click()
        self.panel_is(name)

    def field(self, name: str, selector: str = "input, textarea"):
        return self.browser.wait(f"the field {name}", lambda: self.browser.run("return document.querySelector(`[data-field=\"${arguments[0]}\"]`)?.querySelector(arguments[1]) ?? null", name, selector))

    # The stories, in the order of their names.

    def test_01_sign_in(self):
        b = self.browser
        self.assertNotIn("secret", b.driver.current_url.split("#")[0] if self.emulator.secret else "")
        self.assertEqual(b.run("return document.cookie"), "")
        self.show("records")
        b.sees("Note")
        b.shot("records")
        if not self.emulator.secret:
            return
        # Another browser, which has no session, is told where to find the address and sees no record.
        stranger = Browser(self.width, self.keyboard, settings.pictures)
        try:
            stranger.driver.get(self.emulator.address + "/#/records/Note")
            stranger.sees("This console is locked")
            stranger.shot("locked")
            self.assertEqual(stranger.violations(), [])
        finally:
            stranger.close()

    def test_02_create(self):
        b = self.browser
        self.show("records/Note", zone="Notes")
        b.use("New")
        b.enter("Record name", "from-the-console")
        b.enter(self.field("title"), "Made by hand")
        b.enter(self.field("rating"), "four")
        b.use("Create")
        b.sees("“four” is not a whole number.")
        b.enter(self.field("rating"), "4")
        b.shot("create")
        b.use("Create")
        self.panel_is("from-the-console")
        saved = self.other.lookup("from-the-console", "Notes")
        self.assertEqual((saved["fields"]["title"]["value"], saved["fields"]["rating"]), ("Made by hand", value(4, "INT64")))
        b.shot("created")
        # The last change is taken back.
        b.command("Undo the last change")
        b.wait("the record is gone", lambda: self.other.lookup("from-the-console", "Notes").get("serverErrorCode") == "NOT_FOUND")

    def test_03_edit(self):
        b = self.browser
        self.show("records/Note", zone="Notes")
        self.open_row("note-1")
        b.use("Edit")
        b.enter(self.field("title"), "Edited <b>by</b> hand")
        b.shot("edit")
        if b.keyboard:
            b.keys(Keys.CONTROL + "s")
        else:
            b.use("Save")
        b.sees("note-1 is saved.")
        self.assertEqual(self.other.lookup("note-1", "Notes")["fields"]["title"]["value"], "Edited <b>by</b> hand")
        self.assertEqual(b.run("return document.querySelectorAll('main b').length"), 0)
        b.use("Undo")
        b.wait("the title is as before", lambda: self.other.lookup("note-1", "Notes")["fields"]["title"]["value"] == "Note 1")

    def test_04_conflict(self):
        b = self.browser
        self.show("records/Note", zone="Notes", record="note-2")
        self.panel_is("note-2")
        b.use("Edit")
        b.enter(self.field("title"), "Mine")
        theirs = self.other.save([note("note-2", "Theirs", 5)], "Notes")[0]
        b.sees("Another client saved this record")
        b.use("Save")
        b.sees("Another client saved this record first")
        b.shot("conflict")
        self.assertEqual(b.violations(), [])
        # The title is chosen from this page; the rating stays as the other client has it.
        b.use("Save what is chosen")
        b.sees("note-2 is saved.")
        merged = self.other.lookup("note-2", "Notes")
        self.assertEqual((merged["fields"]["title"]["value"], merged["fields"]["rating"]["value"]), ("Mine", 5))
        self.assertNotEqual(merged["recordChangeTag"], theirs["recordChangeTag"])

    def test_05_query_with_each_comparator(self):
        b = self.browser
        place = lambda latitude: value({"latitude": latitude, "longitude": 10}, "LOCATION")
        self.other.save([
            {"recordName": f"q{i}", "recordType": "Quote", "fields": {"n": value(i, "INT64"), "text": value(["apple pie", "apple tart", "plum tart", "Pear"][i], "STRING"),
             "tags": value([["a"], ["a", "b"], ["b", "c"], ["cc"]][i], "STRING_LIST"), "place": place(50 + i)}} for i in range(4)
        ], "Notes")
        expected = {
            "n == 1": "1", "n != 1": "0 2 3", "n < 1": "0", "n <= 1": "0 1", "n > 2": "3", "n >= 2": "2 3", "n IN 0,3": "0 3", "n NOT_IN 0,3": "1 2",
            "text BEGINS_WITH apple": "0 1", "text NOT_BEGINS_WITH apple": "2 3", "text CONTAINS_ALL_TOKENS tart plum": "2", "text CONTAINS_ANY_TOKENS pie pear": "0 3",
            "place NEAR 50,10 within 120000": "0 1", "tags LIST_CONTAINS b": "1 2", "tags NOT_LIST_CONTAINS b": "0 3", "tags LIST_CONTAINS_ANY a,c": "0 1 2",
            "tags NOT_LIST_CONTAINS_ANY a,c": "3", "tags LIST_CONTAINS_ALL a,b": "1", "tags NOT_LIST_CONTAINS_ALL a,b": "0 2 3", "tags LIST_MEMBER_BEGINS_WITH c": "2 3",
            "tags NOT_LIST_MEMBER_BEGINS_WITH c": "0 1",
        }
        names = b.driver.execute_async_script("const done = arguments[0]; import('/comparators.js').then(m => done(m.comparators.map(c => c.sign ?? c.name)))")
        self.assertEqual(sorted(names), sorted({text.split()[1] for text in expected}), "each comparator has a query here")
        self.show("records/Quote", zone="Notes", sort="n")
        b.wait("all", lambda: len(self.rows()) == 4)
        for text, names in expected.items():
            b.enter("Type a filter", text)
            b.keys(Keys.ENTER)
            wanted = [f"q{i}" for i in names.split()]
            b.wait(text, lambda: self.rows() == wanted and self.count() == str(len(wanted)))
            if b.keyboard:
                b.keys(Keys.BACKSPACE)
            else:
                b.use(f"Remove {text}")
            b.wait("all", lambda: len(self.rows()) == 4)
        # By clicking.
        b.use("Filter")
        b.choose("Field", "text")
        b.choose("Comparator", "BEGINS_WITH")
        b.enter("Value", "plum")
        b.shot("filter")
        b.use("Add")
        b.wait("the plum", lambda: self.rows() == ["q2"])
        # What cannot be is said where it was typed.
        b.enter("Type a filter", "n BEGIN_WITH 3")
        b.keys(Keys.ENTER)
        b.sees("There is no comparator BEGIN_WITH.")
        # The query in its other forms.
        b.enter("Type a filter", "")
        b.use("Query as")
        b.sees("mistkit records query Quote --filter 'text BEGINS_WITH plum' --sort n")
        b.use("Swift")
        b.sees('Filter("text", .beginsWith, "plum")')
        b.use("JSON")
        b.sees('"comparator": "BEGINS_WITH"')
        b.shot("query")

    def test_06_fields_of_every_type(self):
        b = self.browser
        self.other.save([{"recordName": "all", "recordType": "Everything", "fields": {
            "text": value("Grüße <script>alert(1)</script>", "STRING"), "big": value(9007199254740993, "INT64"), "half": value(0.5, "DOUBLE"), "time": value(1767225600000, "TIMESTAMP"),
            "bytes": value("iVBORw0KGgo=", "BYTES"), "link": value({"recordName": "note-3", "action": "NONE"}, "REFERENCE"), "place": value({"latitude": 59.9, "longitude": 10.7}, "LOCATION"),
            "json": value('{"a": [1, 2]}', "STRING"), "texts": value(["a", "b"], "STRING_LIST"), "places": value([{"latitude": 1, "longitude": 2}, {"latitude": 3, "longitude": 4}], "LOCATION_LIST"),
        }}], "Notes")
        self.show("records/Everything", zone="Notes", record="all")
        self.panel_is("all")
        for text in ("Grüße <script>alert(1)</script>", "9007199254740993", "2026-01-01T00:00:00Z", "PNG picture", "89 50 4e 47", "59.9, 10.7"):
            b.sees(text, where=".panel")
        self.assertEqual(b.run("return document.querySelectorAll('.panel svg.map circle').length"), 3)
        self.assertEqual(b.run("return document.querySelectorAll('main script').length"), 0)
        b.shot("fields")
        # A number that JavaScript cannot hold stays what it is when something else is saved.
        b.use("Edit")
        b.enter(self.field("half"), "0.75")
        b.use("Save")
        b.sees("all is saved.")
        saved = self.other.lookup("all", "Notes")["fields"]
        self.assertEqual((saved["big"]["value"], saved["half"]["value"]), (9007199254740993, 0.75))
        # A file that is dropped on a field is uploaded with the record.
        b.use("Edit")
        b.use("Add a field")
        b.enter("Name", "photo")
        b.choose("Type", "ASSETID")
        b.use("Add", "[type=submit]")
        b.run("""const zone = document.querySelector('[data-field=photo] .drop'), data = new DataTransfer()
          const bytes = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='), c => c.charCodeAt(0))
          data.items.add(new File([bytes], 'dot.png', {type: 'image/png'}))
          zone.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))""")
        b.sees("dot.png, 70 B", where=".panel")
        b.use("Save")
        b.wait("the picture", lambda: b.run("return document.querySelector('[data-field=photo] img.picture')?.naturalWidth") == 1)
        self.assertEqual(self.other.lookup("all", "Notes")["fields"]["photo"]["value"]["size"], 70)
        # The reference leads to its record, and back.
        b.use("note-3", ".panel button")
        self.panel_is("note-3")
        b.use("Search", ".panel button")
        b.sees("Everything.link")

    def test_07_delete_with_cascade(self):
        b = self.browser
        child = lambda i, up: {"recordName": f"leaf-{i}", "recordType": "Leaf", "fields": {"up": value({"recordName": up, "action": "DELETE_SELF"}, "REFERENCE")}}
        self.other.save([{"recordName": "tree", "recordType": "Tree", "fields": {"name": value("Oak", "STRING")}}], "Notes")
        self.other.save([child(0, "tree"), child(1, "tree"), child(2, "leaf-0")], "Notes")
        self.show("records/Tree", zone="Notes", record="tree")
        self.panel_is("tree")
        b.use("Delete", ".panel footer button")
        b.sees("3 records go with it")
        for i in range(3):
            b.sees(f"Leaf leaf-{i}")
        b.shot("cascade")
        b.use("Delete 4 records")
        b.sees("4 records are deleted.")
        for name in ("tree", "leaf-0", "leaf-1", "leaf-2"):
            self.assertEqual(self.other.lookup(name, "Notes").get("serverErrorCode"), "NOT_FOUND", name)
        b.use("Undo")
        b.wait("all are back", lambda: all("fields" in self.other.lookup(name, "Notes") for name in ("tree", "leaf-0", "leaf-1", "leaf-2")))

    def test_08_several_at_once(self):
        b = self.browser
        self.other.save([{"recordName": f"many-{i}", "recordType": "Bunch", "fields": {"n": value(i, "INT64")}} for i in range(5)], "Notes")
        self.show("records/Bunch", zone="Notes", sort="n")
        b.wait("five", lambda: len(self.rows()) == 5)
        if b.keyboard:
            b.focus(b.run("return document.querySelector('.table-viewport')"))
            b.keys(Keys.HOME, " ", Keys.ARROW_DOWN, " ")
        else:
            for box in b.run("return [...document.querySelectorAll('.row .select input')].slice(0, 2)"):
                box.click()
        b.sees("2 selected")
        b.use("Set a field")
        b.enter(self.field("n"), "70")
        b.use("Save")
        b.sees("2 records are saved.")
        self.assertEqual([self.other.lookup(f"many-{i}", "Notes")["fields"]["n"]["value"] for i in range(3)], [70, 70, 2])
        b.shot("several")

    def test_09_act_as_another_user(self):
        b = self.browser
        self.show("records/Note", zone="Notes")
        b.wait("notes", lambda: len(self.rows()) > 0)
        b.use(b.run("return document.querySelector('.acting-button')"))
        b.use(self.her, "[role=menuitemradio]")
        b.sees(f"Acting as {self.her}", where=".strip")
        b.wait("no note of the other", lambda: not self.rows())
        self.assertIn("as=" + self.ann, b.driver.current_url)
        b.shot("acting")
        self.assertEqual(b.violations(), [])
        b.use("Stop")
        b.wait("notes again", lambda: len(self.rows()) > 0)

    def test_10_refused_and_add_the_index(self):
        b = self.browser
        other = Client(self.emulator, self.container + ".strict")
        text = 'DEFINE SCHEMA RECORD TYPE Page (title STRING QUERYABLE, size INT64, GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world");'
        self.emulator.request("PUT", f"/_emulator/containers/{other.container}/development/schema", text, kind="text/plain")
        other.save([{"recordName": "page", "recordType": "Page", "fields": {"title": value("One", "STRING"), "size": value(3, "INT64")}}], scope="public")
        self.show("records/Page", container=other.container, scope="public")
        b.sees("Field 'recordName' is not marked queryable")
        b.sees("Not empty, but not indexed")
        b.wait("the rule", lambda: b.run("return document.querySelector('.refusal .rule code') !== null"))
        b.shot("refused")
        self.assertEqual(b.violations(), [])
        b.use("Add a QUERYABLE index")
        b.wait("the page", lambda: self.rows() == ["page"])
        # The same for a condition, whose field has no index either.
        b.enter("Type a filter", "size > 1")
        b.keys(Keys.ENTER)
        b.sees("Field 'size' is not marked queryable")
        b.use("Add a QUERYABLE index")
        b.wait("the page", lambda: self.rows() == ["page"])
        # A write of a stranger.
        self.show("records/Page", container=other.container, scope="public", **{"as": "nobody"}, record="page")
        self.panel_is("page")
        b.use("Edit")
        b.enter(self.field("title"), "Mine now")
        b.use("Save")
        b.sees("Not saved")
        b.shot("denied")
        b.use("Sign in as Local User")
        b.wait("the user", lambda: "Local User" in b.run("return document.querySelector('.acting-button').innerText"))

    def test_11_edit_and_deploy_a_schema(self):
        b = self.browser
        self.show("schema")
        b.use("New type")
        b.enter("Name", "Recipe")
        b.use("Add to the draft")
        b.sees("The draft differs from development.")
        b.use("Add a field")
        b.enter("Name", "servings")
        b.choose("Type", "INT64")
        b.use("QUERYABLE", "input")
        b.use("Add to the draft")
        b.shot("schema")
        b.use("Review and apply")
        b.sees("+ record type Recipe")
        b.use("Import")
        b.sees("Development has the schema.")
        self.assertIn("servings", self.emulator.request("GET", f"/_emulator/containers/{self.container}/development/schema"))
        b.use("Compare and deploy")
        b.sees("+ record type Recipe")
        b.shot("deploy")
        b.use("Deploy")
        b.sees("Production has")
        self.assertIn("servings", self.emulator.request("GET", f"/_emulator/containers/{self.container}/production/schema"))

    def test_12_share_and_accept(self):
        b = self.browser
        self.show("shares")
        b.use("Share a record")
        b.enter("Record name", "note-4")
        b.choose("Zone", "Notes")
        b.enter("Title", "A note for Ann")
        b.enter("Invite", f"ann{self.width}@example.com")
        b.shot("share")
        b.use("Share", "[type=submit]")
        b.sees("A note for Ann", where=".card")
        b.sees("invited", where=".card")
        b.use("Accept as")
        b.use(self.her, "[role=menuitem]")
        b.sees(f"{self.her} takes part.")
        b.sees("accepted", where=".card")
        b.shot("shared")
        b.use("Show them")
        b.wait("the note in Ann's shared database", lambda: self.rows() == ["note-4"])
        b.sees(f"Acting as {self.her}", where=".strip")

    def test_13_a_subscription_fires(self):
        b = self.browser
        self.show("subscriptions")
        b.use("New subscription")
        b.enter("Identifier", "good-notes")
        b.choose("Record type", "Note")
        b.enter("Conditions", "rating > 4")
        b.enter("Message", "A good note")
        b.shot("subscription")
        b.use("Create")
        b.sees("good-notes", where="td")
        self.other.save([note("praised", "Praised", 5)], "Notes", operation="create")
        b.wait("the push", lambda: "created praised" in b.run("return document.querySelector('main').innerText"), 15)
        b.shot("pushes")
        b.use("Payload")
        b.sees('"rid": "praised"', where="dialog")

    def test_14_a_fault_and_a_client_that_retries(self):
        b = self.browser
        self.show("faults")
        b.use("New fault")
        b.choose("What goes wrong", "throttle")
        b.enter("Retry after (s)", "0.1")
        b.enter("For the endpoint", "records/lookup")
        b.enter("How many", "2")
        b.use("Switch on")
        b.sees("The fault is on.")
        statuses = []
        while True:
            try:
                self.other.lookup("note-1", "Notes")
                statuses.append(200)
                break
            except AssertionError as error:
                self.assertIn("429", str(error))
                statuses.append(429)
                time.sleep(0.1)
        self.assertEqual(statuses, [429, 429, 200])
        b.wait("fired twice", lambda: b.run("return [...document.querySelectorAll('td .badge')].some(e => e.textContent === '2')"))
        b.shot("faults")
        b.use("Remove ", "td button")
        b.sees("Everything works")
        # The log has all three.
        self.show("requests")
        b.choose("Status", "fault")
        b.sees("fault:", where=".badge")
        b.sees("429")
        b.wait("the two", lambda: b.run("return document.querySelectorAll('virtual-table .row:not([hidden])').length") == 2)
        b.shot("requests")
        self.show("requests", tab="charts")
        b.sees("Errors by endpoint")
        b.shot("charts")

    def test_15_take_and_restore_a_snapshot(self):
        b = self.browser
        if self.filling:
            self.filling.join()
        name = f"before-{self.width}"
        self.show("snapshots")
        b.use("Take a snapshot")
        b.enter("Name", name)
        b.use("Take", "[type=submit]")
        b.sees(name, where="td", seconds=20)
        self.other.save([note("note-1", "After the snapshot", 1), note("later", "Later", 1)], "Notes")
        b.use(f"Compare {name}")
        b.use("What there is now")
        b.sees("After the snapshot", where="dialog")
        b.sees("1 added", where="dialog")
        b.shot("comparison")
        b.use("Close")
        b.use(f"Restore {name}")
        b.use("Restore")
        b.sees(f"{name} is restored.", seconds=20)
        self.assertEqual(self.other.lookup("later", "Notes").get("serverErrorCode"), "NOT_FOUND")
        self.assertEqual(self.other.lookup("note-1", "Notes")["fields"]["title"]["value"], "Note 1")
        b.shot("snapshots")

    def test_16_live_changes(self):
        b = self.browser
        self.show("records/Note", zone="Notes", sort="title")
        b.wait("notes", lambda: "note-5" in self.rows())
        self.other.save([note("note-5", "Changed meanwhile", 2)], "Notes")
        b.wait("the mark", lambda: b.run("return document.querySelector('.row.changed .cell.key')?.textContent") == "note-5")
        b.sees("Changed meanwhile", where="virtual-table")
        b.shot("live")

    def test_17_import_and_export(self):
        b = self.browser
        rows = self.browser.driver.execute_async_script("""const done = arguments[0]
          Promise.all([import('/transfer.js')]).then(([m]) => done([m.readRecords('recordName,title:STRING,rating:INT64,tags:STRING_LIST\\r\\na,"Two ""words"", here",4,"x,y"\\r\\nb,B,four,\\r\\n', 'f.csv', 'Note'),
            m.readRecords('{"recordName":"a","fields":{"n":{"value":1}}}\\n[1]\\n{"title":"Plain"}\\n', 'f.ndjson', 'Note')]))""")
        csv, lines = rows
        self.assertEqual(csv[0]["record"]["fields"], {"title": value('Two "words", here', "STRING"), "rating": value(4, "INT64"), "tags": value(["x", "y"], "STRING_LIST")})
        self.assertIn("not a whole number", csv[1]["problem"])
        self.assertEqual((lines[0]["record"]["recordName"], lines[1]["problem"], lines[2]["record"]["fields"]), ("a", "The line is not an object.", {"title": {"value": "Plain"}}))
        # A file that is dropped on the table.
        self.show("records/Note", zone="Notes")
        b.wait("notes", lambda: len(self.rows()) > 0)
        b.run("""const data = new DataTransfer()
          data.items.add(new File(['{"recordName":"dropped","fields":{"title":{"value":"Dropped","type":"STRING"},"rating":{"value":1,"type":"INT64"}}}\\n'], 'notes.ndjson'))
          document.querySelector('.records').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))""")
        b.use("Import 1 records")
        b.wait("the record", lambda: self.other.lookup("dropped", "Notes").get("fields", {}).get("title", {}).get("value") == "Dropped")
        # What the filter finds, as a file in both formats, which the page itself can read again.
        b.run("const make = URL.createObjectURL; URL.createObjectURL = blob => { window.saved = blob; return make(blob) }")
        self.show("records/Note", zone="Notes", filter='title == "Dropped"')
        b.wait("the record", lambda: self.rows() == ["dropped"])
        texts = {}
        for format in ("NDJSON", "CSV"):
            b.run("window.saved = undefined")
            b.command(f"Export as {format}")
            b.wait("the file", lambda: b.run("return window.saved !== undefined"))
            texts[format] = b.driver.execute_async_script("const done = arguments[0]; window.saved.text().then(done)")
        self.assertEqual(texts["CSV"], "recordName,rating:INT64,title:STRING\r\ndropped,1,Dropped\r\n")
        exported = json.loads(texts["NDJSON"])
        self.assertEqual((exported["recordName"], exported["recordType"], exported["fields"]["title"]), ("dropped", "Note", value("Dropped", "STRING")))

    def test_18_names_are_text(self):
        b = self.browser
        hostile = "<img src=x onerror=alert(1)>"
        container = self.container + hostile
        try:
            other = Client(self.emulator, urllib.request.quote(container))
            other.zone(hostile)
            other.save([{"recordName": hostile, "recordType": "Evil", "fields": {"text": value(hostile + "javascript:alert(1)", "STRING")}}], hostile)
        except AssertionError:
            # The service does not take such a name of a container; a record and a zone can have it.
            container = self.container
            self.other.zone(hostile)
            self.other.save([{"recordName": hostile, "recordType": "Evil", "fields": {"text": value(hostile + "javascript:alert(1)", "STRING")}}], hostile)
        self.emulator.request("POST", "/_emulator/users", {"givenName": hostile})
        for path in ("records/Evil", "zones", "people", "requests", "schema"):
            self.show(path, container=container)
            b.wait("something", lambda: b.run("return document.querySelector('main > section') !== null"))
        self.show("records/Evil", container=container, record=hostile)
        self.panel_is(hostile)
        b.sees("javascript:alert(1)", where=".panel")
        self.assertEqual(b.run("return document.querySelectorAll('img[src=x]').length"), 0)
        b.shot("hostile-names")

    def test_19_keys(self):
        b = self.browser
        self.show("records/Note", zone="Notes")
        b.wait("notes", lambda: len(self.rows()) > 0)
        b.keys("?")
        b.sees("Show the keys", where="dialog")
        self.assertEqual(b.violations(), [])
        b.shot("keys")
        b.keys(Keys.ESCAPE)
        b.keys("g", "s")
        b.sees("Schema", where="h1")
        b.command("Zones and changes")
        b.sees("Zones and changes", where="h1")
        # Each control that has the focus shows it.
        self.show("records/Note", zone="Notes")
        b.wait("notes", lambda: len(self.rows()) > 0)
        for _ in range(45):
            b.keys(Keys.TAB)
            shown = b.run("""const e = document.activeElement; if (e === document.body) return true
              const s = getComputedStyle(e); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1""")
            self.assertTrue(shown, b.run("return document.activeElement.outerHTML.slice(0, 200)"))

    def test_20_axe_finds_nothing(self):
        b = self.browser
        pages = ["records", "records/Note", "schema", "zones", "zones/Notes", "shares", "subscriptions", "people", "requests", "faults", "snapshots"]
        for scheme in ("dark", "light"):
            b.scheme(scheme)
            for page in pages:
                view = {"record": "note-1", "zone": "Notes"} if page == "records/Note" else {"tab": "charts"} if page == "requests" else {}
                self.show(page, **view)
                if view.get("record"):
                    self.panel_is("note-1")
                time.sleep(0.15)
                self.assertEqual(b.violations(), [], f"{page}, {scheme}")
                b.shot(f"{page.replace('/', '-')}-{scheme}")

    def test_21_nothing_from_outside(self):
        b = self.browser
        b.driver.get("about:blank")
        b.driver.get(self.emulator.address + "/#/records/Note?container=" + self.container)
        b.wait("notes", lambda: len(self.rows()) > 0)
        asked = b.run("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertEqual([name for name in asked if not name.startswith(self.emulator.address)], [])
        size = """return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
          .filter(e => /\\/$|\\.(js|css|svg)$/.test(new URL(e.name).pathname)).reduce((sum, e) => sum + e.encodedBodySize, 0)"""
        opened = b.run(size)
        # The other sections are asked for when they are opened.
        for section in ("schema", "zones", "shares", "subscriptions", "people", "requests", "faults", "snapshots"):
            self.show(section)
        b.driver.execute_async_script("import('/transfer.js').then(arguments[0])")
        everything = b.run(size)
        print(f"    the page: {opened:,} bytes when it is opened, {everything:,} bytes with all its sections", file=sys.stderr)
        self.assertGreater(opened, 50_000)
        self.assertLess(everything, 250_000, "bytes of the page with all its code")

    def test_22_a_hundred_thousand_records(self):
        if not self.filling:
            self.skipTest("Once is enough.")
        self.filling.join()
        b = self.browser
        self.show("records/Line", container="iCloud.com.example.many", zone="Many", sort="n")
        b.wait("lines", lambda: len(self.rows()) > 0)
        b.wait("the count", lambda: self.count() == f"{MANY:,}")
        b.use("Load all")
        b.wait("the end", lambda: f"{MANY:,} shown" in b.run("return document.querySelector('.table-end').innerText"), 90)
        # From the first row to the last one, without a task that makes the page wait for 50 ms.
        frames, tasks = b.driver.execute_async_script("""const done = arguments[0], tasks = [], view = document.querySelector('.table-viewport'), times = []
          new PerformanceObserver(list => tasks.push(...list.getEntries().map(e => e.duration))).observe({type: 'longtask'})
          let last = performance.now(), n = 0
          const step = now => { times.push(now - last); last = now; view.scrollTop = view.scrollHeight * (++n / 120); n < 120 ? requestAnimationFrame(step) : setTimeout(() => done([times.slice(2), tasks]), 100) }
          requestAnimationFrame(step)""")
        frames.sort()
        print(f"    100,000 records: half of the pictures within {frames[len(frames) // 2]:.1f} ms, 95 of 100 within {frames[len(frames) * 95 // 100]:.1f} ms, the slowest {frames[-1]:.1f} ms", file=sys.stderr)
        # Another browser and two emulators run beside it.
        self.assertLess(frames[len(frames) // 2], 34, "milliseconds between two pictures")
        self.assertLessEqual(len(tasks), 6, f"tasks of more than 50 ms: {tasks}")
        self.assertLess(b.run("return document.querySelectorAll('virtual-table .row').length"), 120, "rows that are drawn")
        b.wait("the last row", lambda: f"line-{MANY - 1:06d}" in self.rows())
        b.shot("many")


class FirstPicture(unittest.TestCase):
    """Runs when no other test of the page does, since it measures. Other programs may use the machine: the fastest counts."""

    def test_the_first_picture_comes_within_300_milliseconds(self):
        folder = tempfile.mkdtemp(prefix="console-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        emulator = Emulator(folder)
        self.addCleanup(emulator.stop)
        browser = Browser(1280, False)
        self.addCleanup(browser.close)
        times = []
        for _ in range(5):
            # Each time as if the browser had never seen the page.
            browser.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
            browser.driver.get(emulator.console if not times else emulator.address)
            paint = "return performance.getEntriesByType('paint').find(e => e.name === 'first-contentful-paint')?.startTime"
            times.append(browser.wait("the first picture", lambda: browser.run(paint)))
        print(f"    the first picture after {', '.join(f'{time:.0f}' for time in times)} ms", file=sys.stderr)
        self.assertLess(min(times), 300)


class DesktopByMouse(Stories, unittest.TestCase):
    width, keyboard, container, family = 1280, False, "iCloud.com.example.desktop", "Lindqvist"


class PhoneByKeyboard(Stories, unittest.TestCase):
    width, keyboard, container, family = 390, True, "iCloud.com.example.phone", "Moreau"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures")
    parser.add_argument("stories", nargs="*")
    parser.parse_args(namespace=settings)
    if settings.pictures:
        os.makedirs(settings.pictures, exist_ok=True)
    unittest.main(argv=[sys.argv[0], "-v", *settings.stories])

import Foundation
import MistKit
import StreamingJSON
import Testing

@testable import MistKitCLI

/// Import and export of files with records and assets.
struct TransferTests {
    @Test(arguments: [
        ("a,b", [CSVCell(text: "a"), CSVCell(text: "b")]),
        ("", [CSVCell(text: "")]),
        (",", [CSVCell(text: ""), CSVCell(text: "")]),
        ("\"\",x", [CSVCell(text: "", isQuoted: true), CSVCell(text: "x")]),
        ("\"a,\"\"b\"\"\nc\",d", [CSVCell(text: "a,\"b\"\nc", isQuoted: true), CSVCell(text: "d")]),
        ("a\"b,c", [CSVCell(text: "a\"b"), CSVCell(text: "c")]),
        ("\"open", nil),
    ])
    func quotedCellsOfCSVAreRead(_ row: String, _ cells: [CSVCell]?) {
        let read = CSVRow(row)
        #expect((read.isOpen ? nil : read.cells) == cells)
    }

    /// A quoted cell keeps the line ends of its file; the line end after a row is not part of a cell.
    @Test(arguments: [
        (
            "a:STRING,b:STRING\r\n\"x\r\ny\",z\r\n1,\"2\"\r\n",
            ["2: a=x\r\ny b=z", "4: a=1 b=2"]
        ),
        ("\u{FEFF}a:STRING\n\"never closed\n2\n", ["2: The quoted cell has no end."]),
    ])
    func rowsMayHaveSeveralLines(_ text: String, _ expected: [String]) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "rows-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try text.write(to: file, atomically: true, encoding: .utf8)
        var reader = try ImportReader(FileHandle(forReadingFrom: file), isCSV: true, from: 0, line: 0)
        var found: [String] = []
        while let item = try reader.next() {
            let text =
                switch item.record {
                case .success(let record):
                    record.fields.map { "\($0.name)=\($0.value.stringValue ?? "")" }.sorted().joined(separator: " ")
                case .failure(let error): error.message
                }
            found.append("\(item.line): \(text)")
        }
        #expect(found == expected)
    }

    /// A field of each type is written into a cell and read again.
    @Test func everyTypeSurvivesARowOfCSV() throws {
        var record = Record(
            recordType: "T",
            recordName: "r",
            fields: [
                "string": "a,\"b\"\n", "empty": "", "json": "[1]", "number": 3, "ratio": 0.5,
                "when": .timestamp(Date(timeIntervalSince1970: 1_700_000_000.25)), "bytes": .bytes(Data([1, 2])),
                "link": .reference(Reference(recordName: "x")),
                "owner": .reference(Reference(recordName: "y", action: .deleteSelf)),
                "place": .location(Location(latitude: 1.5, longitude: -2)), "tags": .list(["a,b", ""]),
                "dates": .list([Date(timeIntervalSince1970: 1)]), "secret": .encrypted("s"),
            ]
        )
        var columns = RecordColumns()
        var known: Set<RecordColumns.Column> = []
        columns.add(fieldsOf: record, known: &known)
        let header = CommaSeparatedValues.line(columns.columns.map(\.title))
        let read = try RecordColumns(header: CSVRow(String(header.dropLast())).cells)
        let cells = CSVRow(String(columns.line(of: record).dropLast())).cells
        let copy = try read.record(of: cells)
        record.zoneID = nil
        #expect(copy.recordName == "r" && copy.recordType == "T")
        for (name, value) in record.fields { #expect(copy[name]?.plain == value.plain, "\(name)") }
        #expect(copy["secret"]?.isEncrypted == true)
    }

    @Test(arguments: [
        ("a,a", "The header has the column a twice."), ("a,,b", "A cell of the header is empty."),
        ("a:STRNG", "The field a has the type STRNG, which does not exist."),
    ])
    func mistakesInCSVHeadersAreErrors(_ header: String, message: String) throws {
        let cells = CSVRow(header).cells
        let error = #expect(throws: CommandError.self) { try RecordColumns(header: cells) }
        #expect(error?.message == message)
    }

    @Test func linesAreReadFromAnyOffset() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "lines-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let long = String(repeating: "x", count: 600_000)
        try "one\n\n\(long)\nlast".write(to: file, atomically: true, encoding: .utf8)
        var lines = try LineReader(FileHandle(forReadingFrom: file))
        var offsets: [Int64] = []
        var found: [String] = []
        while let line = try lines.next() {
            found.append(String(decoding: line, as: UTF8.self))
            offsets.append(lines.offset)
        }
        #expect(found == ["one", "", long, "last"])
        #expect(offsets == [4, 5, 600_006, 600_010])
        var rest = try LineReader(FileHandle(forReadingFrom: file), from: 600_006)
        #expect(try rest.next() == Array("last".utf8))
        #expect(try rest.next() == nil)
    }

    @Test func progressSaysHowLongItTakes() {
        let text = TransferProgressLine.text(
            "imported",
            records: 12_000,
            bytes: 3_400_000,
            totalBytes: 10_000_000,
            recordRate: 8000.4,
            byteRate: 100_000
        )
        #expect(text == "12000 records imported, 3400 kB, 8000 a second, 34 %, 1 min 6 s left")
    }

    // MARK: Commands

    private func commands() throws -> CommandTests { try CommandTests() }

    @Test func recordsOfZonesComeBackIntoZones() throws {
        let commands = try commands()
        for zone in ["Notes", "Drafts"] { try commands.mistkit("zones", "create", zone) }
        for (name, zone) in [("a", "Notes"), ("b", "Drafts")] {
            try commands.mistkit(
                "records",
                "create",
                "--type",
                "Note",
                "--name",
                name,
                "-F",
                "title=\(name)",
                "--zone",
                zone
            )
        }
        let export = try commands.mistkit("records", "export", "--all-zones", "--output", "all.ndjson")
        #expect(export.status == 0 && export.errors.contains("2 records exported to all.ndjson"))
        let again = try commands.mistkit("records", "export", "--all-zones", "--output", "all.ndjson")
        #expect(again.status == 64 && again.errors.contains("all.ndjson exists already."))
        let other = ["--container", "iCloud.other"]
        let imported = try commands.mistkit(arguments: ["records", "import", "all.ndjson"] + other)
        #expect(imported.status == 0 && imported.errors.contains("2 records imported"))
        let found = try commands.mistkit(
            arguments: ["records", "lookup", "b", "--zone", "Drafts", "-f", "ndjson"] + other
        )
        #expect(found.output.contains(#""title":{"value":"b","type":"STRING"}"#))
        let one = try commands.mistkit(arguments: ["records", "export", "--zone", "Notes", "--output", "-"] + other)
        #expect(one.lines.count == 1 && one.output.contains(#""recordName":"a""#))
    }

    @Test(arguments: [
        ("[]", [], nil), ("", [], nil),
        (#"[{"a":[1,{}]},\#n {"b":"}\\\""}]"#, [#"1 {"a":[1,{}]}"#, #"2 {"b":"}\\\""}"#], nil),
        ("\u{FEFF}{\n}\n{}", ["1 { }", "3 {}"], nil),
        ("[{},\n7]", ["1 {}"], "Line 2 has no record at byte 5: a record is an object in braces."),
        ("[{", [], "The record that begins in line 1 has no end."),
        ("[", [], "The file ends at byte 1, in line 1, and the array of records has no end there."),
        ("[{},", ["1 {}"], "The file ends at byte 4, in line 1, and the array of records has no end there."),
        ("[{}\n", ["1 {}"], "The file ends at byte 4, in line 2, and the array of records has no end there."),
        ("[{}\n{}]", ["1 {}"], "Line 2 has no comma before the record at byte 4."),
        ("[{},]", ["1 {}"], "Line 1 has no record at byte 4: a record is an object in braces."),
        ("[{}]\n{}", ["1 {}"], "Line 2 has text behind the array, at byte 5."),
        ("[{}]]", ["1 {}"], "Line 1 has text behind the array, at byte 4."),
        ("{},{}", ["1 {}"], "Line 1 has no record at byte 2: a record is an object in braces."),
        ("{}\n]", ["1 {}"], "Line 2 has no record at byte 3: a record is an object in braces."),
    ])
    func objectsOfArraysAreFound(_ text: String, _ expected: [String], _ problem: String?) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "array-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try text.write(to: file, atomically: true, encoding: .utf8)
        var reader = try JSONElementReader(FileHandle(forReadingFrom: file))
        var found: [String] = []
        var message: String?
        do {
            while let (line, bytes) = try reader.nextObject() {
                found.append("\(line) \(String(decoding: bytes, as: UTF8.self))")
            }
        } catch let error as CommandError {
            message = error.message
        }
        #expect(found == expected)
        #expect(message == problem)
    }

    /// A run that begins behind an object knows whether the object is in an array.
    @Test(arguments: [
        ("\u{FEFF} [{},\n{}]", 7, ["2 {}"], nil),
        ("[{},\n{}", 3, ["2 {}"], "The file ends at byte 7, in line 2, and the array of records has no end there."),
        ("[{}]", 3, [], nil),
        ("[{}", 3, [], "The file ends at byte 3, in line 1, and the array of records has no end there."),
        ("{}\n{}", 2, ["2 {}"], nil),
    ])
    func arraysAreContinued(_ text: String, from offset: Int64, _ expected: [String], _ problem: String?) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "array-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try text.write(to: file, atomically: true, encoding: .utf8)
        var reader = try JSONElementReader(FileHandle(forReadingFrom: file), from: offset)
        var found: [String] = []
        var message: String?
        do {
            while let (line, bytes) = try reader.nextObject() {
                found.append("\(line) \(String(decoding: bytes, as: UTF8.self))")
            }
        } catch let error as CommandError {
            message = error.message
        }
        #expect(found == expected)
        #expect(message == problem)
    }

    /// What was read before the cut is saved, and the end of the command says that the file is not whole.
    @Test func anArrayThatWasCutOffIsAnError() throws {
        let commands = try commands()
        let file = commands.folder.appending(path: "cut.json")
        try Data(#"[{"recordType":"Note","recordName":"a"},\#n{"recordType":"Note","recordName":"b"},"#.utf8).write(
            to: file
        )
        let message = "mistkit: The file ends at byte 80, in line 2, and the array of records has no end there."
        let check = try commands.mistkit("records", "import", "cut.json", "--dry-run")
        #expect(check.status == 65 && check.errors.contains(message), "\(check.errors)")
        for _ in 1...2 {
            let outcome = try commands.mistkit("records", "import", "cut.json")
            #expect(outcome.status == 65 && outcome.errors.contains(message), "\(outcome.errors)")
            #expect(FileManager.default.fileExists(atPath: file.path + ".journal"))
        }
        let found = try commands.mistkit("records", "lookup", "a", "b", "-f", "ndjson")
        #expect(found.status == 0 && found.lines.count == 2, "\(found.errors)")
    }

    /// Records without names that share a line of a JSON array are different records.
    @Test func recordsOfOneLineGetNamesOfTheirOwn() throws {
        let commands = try commands()
        try Data(#"[{"recordType":"Note"},{"recordType":"Note"},{"recordType":"Note"}]"#.utf8)
            .write(to: commands.folder.appending(path: "notes.json"))
        let imported = try commands.mistkit("records", "import", "notes.json")
        #expect(imported.status == 0 && imported.errors.contains("3 records imported"), "\(imported.errors)")
        #expect(try commands.mistkit("records", "count", "Note").output == "3\n")
    }

    @Test func arraysAreExportedAndImported() throws {
        let commands = try commands()
        let notes = (1...3).map {
            ##"{"recordType":"Note","recordName":"n\##($0)","fields":{"t":{"value":"[\##($0)"}}}"##
        }
        try commands.mistkit("records", "create", "--from", "-", input: notes.joined(separator: "\n"))
        #expect(try commands.mistkit("records", "export", "Note", "--output", "notes.json").status == 0)
        let array = try Data(contentsOf: commands.folder.appending(path: "notes.json"))
        #expect((try JSONSerialization.jsonObject(with: array) as? [Any])?.count == 3)
        let imported = try commands.mistkit("records", "import", "notes.json", "--container", "iCloud.other")
        #expect(imported.status == 0 && imported.errors.contains("3 records imported"), "\(imported.errors)")
        let failed = try commands.mistkit("records", "import", "notes.json", "--existing", "fail")
        #expect(failed.status == 1 && failed.errors.contains("notes.json, line 2: "))
        // The file with the failed objects can be imported unchanged.
        let again = try commands.mistkit("records", "import", "notes.json.failed")
        #expect(again.errors.contains("3 records imported"), "\(again.errors)")
        #expect(try commands.mistkit("records", "export", "Note", "--output", "-", "--format", "json").status == 64)
        #expect(
            FileManager.default.subpaths(atPath: commands.folder.path)?.contains { $0.contains("notes.json.part") }
                == false
        )
    }

    /// Unusual names, several files in one field, a second export with equal content, and files that are missing.
    @Test func filesGoThroughAFolder() throws {
        let commands = try commands()
        let folder = commands.folder
        func write(_ text: String, _ path: String) throws {
            let url = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }
        try write("photo", "in/a.jpg")
        try write("text", "in/sub/b.txt")
        let long = String(repeating: "a/", count: 120)
        let lines = [
            #"{"recordName":"\#(long)","fields":{"photo":{"value":{"file":"a.jpg"},"type":"ASSETID"}}}"#,
            #"{"recordName":"..","fields":{"files":{"value":[{"file":"sub/b.txt"},{"file":"a.jpg"}],"type":"ASSETID_LIST"}}}"#,
            #"{"recordName":"x","fields":{"photo":{"value":{"file":"../in/a.jpg"},"type":"ASSETID"}}}"#,
            #"{"recordName":"y","fields":{"photo":{"value":{"file":"gone"},"type":"ASSETID"}}}"#,
            #"{"recordName":"z","fields":{"photo":{"value":{"size":3},"type":"ASSETID"}}}"#,
        ]
        try write(lines.joined(separator: "\n"), "people.ndjson")
        try write("recordName,photo:ASSETID\nc,a.jpg\n", "people.csv")
        let options = ["--type", "Person", "--assets", "in"]
        for dryRun in [["--dry-run"], []] {
            let imported = try commands.mistkit(arguments: ["records", "import", "people.ndjson"] + options + dryRun)
            #expect(imported.status != 0)
            for message in [
                "line 3: The file ../in/a.jpg of the field photo is outside of the folder of files.",
                "line 4: The file gone of the field photo is not in in.",
                "line 5: The field photo is a file without a name.",
            ] { #expect(imported.errors.contains("people.ndjson, \(message)"), "\(imported.errors)") }
        }
        #expect(try commands.mistkit(arguments: ["records", "import", "people.csv"] + options).status == 0)
        let without = try commands.mistkit("records", "import", "people.csv", "--type", "Person")
        #expect(without.status == 65 && without.errors.contains("no folder of files is given"))

        for (format, container) in [("ndjson", "iCloud.second"), ("csv", "iCloud.third")] {
            let file = "copy.\(format)"
            let first = try commands.mistkit("records", "export", "Person", "--output", file, "--assets", format)
            #expect(first.status == 0, "\(first.errors)")
            let other = ["--container", container]
            let copied = try commands.mistkit(
                arguments: ["records", "import", file, "--assets", format] + other
            )
            #expect(copied.status == 0, "\(copied.errors)")
            let copy = ["records", "export", "Person", "--output", "again.\(format)", "--assets", "again-\(format)"]
            #expect(try commands.mistkit(arguments: copy + other).status == 0)
            func contents(_ name: String) -> [String: String] {
                let root = folder.appending(path: name)
                var files: [String: String] = [:]
                for path in FileManager.default.subpaths(atPath: root.path) ?? [] {
                    files[path] = try? String(contentsOf: root.appending(path: path), encoding: .utf8)
                }
                return files
            }
            let files = contents(format)
            #expect(files.values.sorted() == ["photo", "photo", "photo", "text"], "\(files)")
            #expect(files["_defaultZone/%2E./files-0"] == "text" && files["_defaultZone/c/photo"] == "photo")
            #expect(contents("again-\(format)") == files)
        }
    }

    @Test func linesThatFailGoIntoAFileOfTheirOwn() throws {
        let commands = try commands()
        let csv = "recordName,title:STRING,rating:INT64\na,x,1\nb,y,many\nc,\"z\nz\",3\n"
        try csv.write(to: commands.folder.appending(path: "notes.csv"), atomically: true, encoding: .utf8)
        let check = try commands.mistkit("records", "import", "notes.csv", "--type", "Note", "--dry-run")
        #expect(check.status == 65 && check.output == "Note: 2 records\n")
        #expect(check.errors.contains("notes.csv, line 3: \"many\" is not a valid INT64"))
        let imported = try commands.mistkit("records", "import", "notes.csv", "--type", "Note")
        #expect(imported.status == 1 && imported.errors.contains("Their lines are in notes.csv.failed"))
        let failed = try String(contentsOf: commands.folder.appending(path: "notes.csv.failed"), encoding: .utf8)
        #expect(failed == "recordName,title:STRING,rating:INT64\nb,y,many\n")
        let found = try commands.mistkit("records", "lookup", "c", "-f", "ndjson")
        #expect(found.output.contains(#""title":{"value":"z\nz","type":"STRING"}"#))
    }

    @Test func recordsThatExistAreTreatedAsAsked() throws {
        let commands = try commands()
        try commands.mistkit("records", "create", "--type", "Note", "--name", "a", "-F", "title=old", "-F", "rating=1")
        try #"{"recordType":"Note","recordName":"a","fields":{"title":{"value":"new","type":"STRING"}}}"#
            .write(to: commands.folder.appending(path: "a.ndjson"), atomically: true, encoding: .utf8)
        func fields() throws -> [String] {
            let output = try commands.mistkit("records", "lookup", "a", "-f", "csv").output
            return output.split(separator: "\r\n").last?.split(separator: ",").suffix(2).map(String.init) ?? []
        }
        #expect(try commands.mistkit("records", "import", "a.ndjson", "--existing", "skip").status == 0)
        #expect(try fields() == ["old", "1"])
        let refused = try commands.mistkit("records", "import", "a.ndjson", "--existing", "fail")
        #expect(refused.status == 1 && refused.errors.contains("a.ndjson, line 1: "))
        #expect(try fields() == ["old", "1"])
        #expect(try commands.mistkit("records", "import", "a.ndjson").status == 0)
        #expect(try fields() == ["new", "1"])
        #expect(try commands.mistkit("records", "import", "a.ndjson", "--existing", "replace").status == 0)
        #expect(try fields().first?.hasPrefix("new") == true || fields().last == "new")
    }

    @Test func aJournalOfAnotherPurposeIsNotFollowed() throws {
        let commands = try commands()
        try "{\"purpose\":\"import skip private\",\"run\":\"x\",\"records\":1}"
            .write(to: commands.folder.appending(path: "a.ndjson.journal"), atomically: true, encoding: .utf8)
        try "".write(to: commands.folder.appending(path: "a.ndjson"), atomically: true, encoding: .utf8)
        let outcome = try commands.mistkit("records", "import", "a.ndjson")
        #expect(outcome.status == 64 && outcome.errors.contains("of an unfinished run with other options"))
    }
}

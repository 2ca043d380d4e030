import Foundation
import MistModels
import MistStore
import Testing

/// The Swift of "What wins".
struct MergeTests {
    @Test func editsOfDifferentFieldsAreAllKept() async throws {
        try await withTwoDevices { phone, laptop in
            try await phone.privateDatabase.add(Recipe(title: "Soup"), named: "soup")
            try await phone.sync()
            try await laptop.sync()

            try await phone.privateDatabase.write { recipes in
                var soup = try recipes.fetch(Recipe.self, named: "soup")
                soup.title = "Tomato soup"
                try recipes.add(soup)
            }
            try await laptop.privateDatabase.write { recipes in
                var soup = try recipes.fetch(Recipe.self, named: "soup")
                soup.notes = "More salt"
                try recipes.add(soup)
            }
            for device in [phone, laptop, phone] { try await device.sync() }

            let soup = try await phone.privateDatabase.fetch(Recipe.self, named: "soup")
            print(soup.title, soup.notes)  // Tomato soup More salt
            #expect(soup.model == Recipe(title: "Tomato soup", notes: "More salt"))
            #expect(try await laptop.privateDatabase.fetch(Recipe.self, named: "soup").model == soup.model)
        }
    }

    @Test func theLatestEditOfAFieldWins() async throws {
        try await withTwoDevices { phone, laptop in
            try await phone.privateDatabase.add(Recipe(title: "Soup"), named: "soup")
            try await phone.sync()
            try await laptop.sync()

            try await phone.privateDatabase.add(Recipe(title: "Tomato soup"), named: "soup")
            // A second edit is later than the first, whatever the clock shows.
            try await laptop.privateDatabase.add(Recipe(title: "Leek soup"), named: "soup")
            try await laptop.privateDatabase.add(Recipe(title: "Pumpkin soup"), named: "soup")
            try await laptop.sync()
            let summary = try await phone.sync()  // The phone's edit arrives last, and is the older one.

            let soup = try await phone.privateDatabase.fetch(Recipe.self, named: "soup")
            print(soup.title, summary.lost)  // Pumpkin soup 1
            #expect(soup.title == "Pumpkin soup")
            #expect(summary.lost == 1)
            try await laptop.sync()
            #expect(try await laptop.privateDatabase.fetch(Recipe.self, named: "soup").title == "Pumpkin soup")
        }
    }

    @Test func aDeleteWinsOverEveryEdit() async throws {
        try await withTwoDevices { phone, laptop in
            try await phone.privateDatabase.add(Recipe(title: "Soup"), named: "soup")
            try await phone.sync()
            try await laptop.sync()

            try await phone.privateDatabase.remove(Recipe.self, named: "soup")
            try await laptop.privateDatabase.add(Recipe(title: "Pumpkin soup"), named: "soup")
            try await phone.sync()
            let summary = try await laptop.sync()
            print(summary.removed, summary.lost)  // 1 1
            #expect(summary.removed == 1)
            #expect(summary.lost == 1)
            #expect(try await laptop.privateDatabase.find(Query<Recipe>()).isEmpty)

            if let entry = try await laptop.privateDatabase.recoveryLog().first {
                try await laptop.privateDatabase.restore(entry)
            }
            let soup = try await laptop.privateDatabase.fetch(Recipe.self, named: "soup")
            print(soup.title)  // Pumpkin soup
            #expect(soup.title == "Pumpkin soup")
        }
    }

    @Test func aNameThatIsUsedAgainIsANewRecord() async throws {
        try await withTwoDevices { phone, laptop in
            try await phone.privateDatabase.add(Recipe(title: "Soup", notes: "More salt"), named: "soup")
            try await phone.sync()
            try await laptop.sync()

            try await phone.privateDatabase.remove(Recipe.self, named: "soup")
            try await phone.sync()
            try await phone.privateDatabase.add(Recipe(title: "Onion soup"), named: "soup")
            try await phone.sync()
            try await laptop.sync()

            let soup = try await laptop.privateDatabase.fetch(Recipe.self, named: "soup")
            print(soup.title, soup.notes.isEmpty)  // Onion soup true
            #expect(soup.model == Recipe(title: "Onion soup"))
        }
    }

    @Test func policies() async throws {
        try await withTwoDevices { phone, laptop in
            try await phone.privateDatabase.add(Recipe(title: "Soup", bestTime: 60), named: "soup")
            try await phone.sync()
            try await laptop.sync()

            for (device, tag, rating, time) in [(phone, "quick", 3, 40), (laptop, "warm", 5, 45)] {
                try await device.privateDatabase.write { recipes in
                    var soup = try recipes.fetch(Recipe.self, named: "soup")
                    soup.timesCooked += 1
                    soup.tags.append(tag)
                    soup.bestRating = max(soup.bestRating, rating)
                    soup.bestTime = min(soup.bestTime ?? time, time)
                    try recipes.add(soup)
                }
            }
            for device in [phone, laptop, phone] { try await device.sync() }

            let soup = try await phone.privateDatabase.fetch(Recipe.self, named: "soup")
            print(soup.timesCooked, soup.tags, soup.bestRating, soup.bestTime ?? 0)  // 2 ["quick", "warm"] 5 40
            #expect(soup.timesCooked == 2)
            #expect(soup.tags == ["quick", "warm"])
            #expect(soup.bestRating == 5)
            #expect(soup.bestTime == 40)
            #expect(try await laptop.privateDatabase.fetch(Recipe.self, named: "soup").model == soup.model)

            try await phone.privateDatabase.increment(\.timesCooked, of: Recipe.self, named: "soup")
            #expect(try await phone.privateDatabase.fetch(Recipe.self, named: "soup").timesCooked == 3)
        }
    }

    @Test func editTimesOfTheRecord() throws {
        var configuration = StoreConfiguration()
        configuration.setEditTimes(.ofRecord, of: Todo.self)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mist-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try MistStore(at: folder, records: [Todo.self], configuration: configuration).close()

        configuration.setEditTimes(.ofRecord, of: Recipe.self)
        let refused = configuration
        let error = #expect(throws: StoreError.self) {
            try MistStore(at: folder, records: [Recipe.self], configuration: refused)
        }
        #expect(error?.code == .schema)
    }
}

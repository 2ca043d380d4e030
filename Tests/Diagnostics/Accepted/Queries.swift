import Foundation
import MistModels

@CloudKitRecord
struct Task {
    var title: String
    var rating: Int
    var score: Double?
    var isOpen: Bool
    var due: Date?
    var tags: [String]
    var state: State
    var owner: RecordReference<Task>?
    var place: Location?
    var url: URL

    enum State: String, FieldConvertible { case open, done }
}

func comparisons(_ now: Date, _ title: String, _ rating: Int, _ task: StoredRecord<Task>) -> Query<Task> {
    Query<Task> {
        Filter(\.title == "a")
        Filter(\.title == title)
        Filter(\.title != title + "b")
        Filter(\.rating > 3)
        Filter(\.rating >= -3)
        Filter(\.rating <= rating + 1)
        Filter(\.score < 2.5)
        Filter(\.score != 2)
        Filter(\.isOpen == true)
        Filter(\.isOpen == !task.isOpen)
        Filter(\.due < now)
        Filter(\.due >= .now)
        Filter(\.state == .open)
        Filter(\.state != .done)
        Filter(\.owner == task.reference())
        Filter(\.recordName == "n")
        Filter(\.createdTimestamp > .now)
        Sort(\.title)
        Sort(\.rating, ascending: false)
    }
}

func otherConditions(_ task: StoredRecord<Task>, _ here: Location, _ words: [String], _ rating: Int?) -> [Query<Task>] {
    [
        Query<Task> {
            Filter(\.title, beginsWith: "b")
            Filter(\.title, containsAllTokens: words.joined(separator: " "))
            Filter(\.rating, in: [1, 2, 3])
            Filter(\.state, notIn: [.open])
            Filter(\.recordName, in: ["a", "b"])
            Filter(\.createdUserRecordName, notIn: words)
            Sort(\.createdTimestamp, ascending: false)
        },
        Query<Task> {
            Filter(\.tags, contains: "x")
            Filter(\.tags, containsAny: words)
            for word in words { Filter(\.tags, doesNotContain: word) }
            if let rating { Filter(\.rating > rating) } else { Filter(\.rating < 10) }
        },
        Query<Task> {
            Filter(\.place, within: .metres(500), of: here)
            Filter(\.url == URL(fileURLWithPath: "/"))
            Sort(\.place, distanceFrom: here)
        },
    ]
}

let conditions: [Filter<Task>] = [Filter(\.title == "a"), Filter(\.rating > 3), Filter(\.state == .done)]

import Foundation
import MistModels

/// A list of to-dos, such as "Home".
@CloudKitRecord
package struct TodoList: Equatable {
    package var name: String

    package init(name: String) {
        self.name = name
    }
}

/// A to-do of a list. Its list is its parent: removing the list removes the to-do.
@CloudKitRecord
package struct Todo: Equatable {
    @CloudKitParent package var list: RecordReference<TodoList>
    package var title: String
    package var isDone = false
    /// The day on which it is due, at midnight in UTC.
    package var due: Date?
    /// The person to whom it is assigned. The to-do stays when the person is removed.
    package var assignee: RecordReference<Person>?
    package var note: String?
    /// A photo of it. The store keeps the file, and sends it before the to-do.
    package var photo: Asset?

    package init(list: RecordReference<TodoList>, title: String) {
        self.list = list
        self.title = title
    }
}

/// A person to whom to-dos are assigned.
@CloudKitRecord
package struct Person: Equatable {
    package var name: String

    package init(name: String) {
        self.name = name
    }
}

extension CloudKitRecord {
    /// The record name of what people call by its name, such as a list or a person.
    ///
    /// It is computed from the name and not random. So when two devices make the list "Home" while they are offline,
    /// both make the same record, and there is one list in the end.
    package static func recordName(for name: String) -> String {
        let letters = name.lowercased().utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                String(UnicodeScalar(byte))
            default: "-" + String(byte, radix: 16)
            }
        }
        return recordType + "." + letters.joined()
    }
}

public import StreamingJSON

extension PushPayload {
    /// The alert of a push: its texts.
    public struct Alert: Hashable, Sendable {
        /// The text.
        public var body: String?
        /// The key of the text in the app's strings (`loc-key`).
        public var localizationKey: String?
        /// The values of the record's fields that are inserted into the localised text (`loc-args`).
        public var localizationArguments: [String]?
        /// The key of the button's text in the app's strings (`action-loc-key`).
        public var actionLocalizationKey: String?
        /// The image to show while the app starts (`launch-image`).
        public var launchImage: String?
        /// The members that have no property here.
        public var otherKeys = OtherKeys()

        /// Makes the alert of a push. Parts that are `nil` are left out of the JSON.
        public init(
            body: String? = nil,
            localizationKey: String? = nil,
            localizationArguments: [String]? = nil,
            actionLocalizationKey: String? = nil,
            launchImage: String? = nil
        ) {
            self.body = body
            self.localizationKey = localizationKey
            self.localizationArguments = localizationArguments
            self.actionLocalizationKey = actionLocalizationKey
            self.launchImage = launchImage
        }
    }
}

extension PushPayload.Alert: JSONBackedCodable {
    private enum Key: String, NounKey {
        case body
        case localizationKey = "loc-key"
        case localizationArguments = "loc-args"
        case actionLocalizationKey = "action-loc-key"
        case launchImage = "launch-image"
    }
    private static let keys = NounKeys<Key>()

    /// Reads the alert of a push: an object, or a string, which is the body as in the push service.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        if try reader.peekKind() == .string {
            body = try reader.readString()
            return
        }
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .body: body = try otherKeys.readLeniently(key, from: &reader)
            case .localizationKey: localizationKey = try otherKeys.readLeniently(key, from: &reader)
            case .localizationArguments: localizationArguments = try otherKeys.readLeniently(key, from: &reader)
            case .actionLocalizationKey: actionLocalizationKey = try otherKeys.readLeniently(key, from: &reader)
            case .launchImage: launchImage = try otherKeys.readLeniently(key, from: &reader)
            }
        }
    }

    /// Writes the parts that are not `nil`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write("body", body, to: &writer)
        otherKeys.write("loc-key", localizationKey, to: &writer)
        otherKeys.write("loc-args", localizationArguments, to: &writer)
        otherKeys.write("action-loc-key", actionLocalizationKey, to: &writer)
        otherKeys.write("launch-image", launchImage, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}

extension PushPayload.Content {
    /// Whether parts were left out to keep the push small: whether the push has the key `p`, with any value.
    public var isPruned: Bool {
        get { pruned != nil }
        set { pruned = newValue ? 1 : nil }
    }
}

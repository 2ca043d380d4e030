/// The name of a rule that both the emulator and the contract have.
///
/// The emulator's `WriteRule` decides by the rule, and the contract's `ContractRule` checks it, and has the sentence and
/// the evidence. A search for the case finds both. A rule that no source settles is in the emulator alone, and has no
/// case here.
package enum RuleID: String, Hashable, Sendable, CaseIterable {
    // MARK: Records and their names

    case recordNameForm
    case controlCharacterInRecordName
    case missingRecordName
    case userRecordOfClient

    // MARK: Operations and change tags

    case createOfExisting
    case createWithTag
    case updateOfMissing
    case updateWithoutTag
    case updateWithOldTag
    case replaceWithOldTag
    case deleteWithoutTag
    case deleteWithOldTag
    case forceDeleteOfMissing
    case deletionOfValidatedTarget

    // MARK: Permissions

    case recordOfAnotherUser
    case createWithoutUser
    case createWithoutGrant

    // MARK: Indexes

    case filterWithoutIndex
    case sortWithoutIndex
    case searchWithoutIndex
    case queryWithoutFilter

    // MARK: Types and fields

    case createWithoutType
    case forcedOperationWithoutType
    case updateWithAnotherType
    case typeNotDeployed
    case unknownTypeOfServerKey
    case fieldNameForm
    case unknownField
    case fieldNotInSchema
    case fieldsOfType
    case recordSize

    // MARK: References

    case targetOfValidate
    case referencesWithDeleteSelf

    // MARK: Assets

    case assetWithoutReceipt
    case assetOfAnotherField

    // MARK: Shares

    case misspelledShareType
    case shareOfMissingRecord
    case shareOfOldVersion
}

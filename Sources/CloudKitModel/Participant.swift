extension Participant {
    /// Makes a participant who is invited to a share.
    ///
    /// ```swift
    /// Participant.invited(.emailAddress("guest@example.com"), permission: .readWrite)
    /// // {"userIdentity":{"lookupInfo":{"emailAddress":"guest@example.com"}},"type":"USER",
    /// //  "acceptanceStatus":"INVITED","permission":"READ_WRITE"}
    /// ```
    ///
    /// - Parameters:
    ///   - lookup: The person's e-mail address, phone number or user record name.
    ///   - permission: What the person may do.
    /// - Returns: The participant, in the form that Apple's page on sharing shows.
    public static func invited(_ lookup: LookupInfo, permission: SharePermission = .readOnly) -> Participant {
        Participant(
            userIdentity: UserIdentity(userRecordName: lookup.userRecordName, lookupInfo: lookup),
            type: .user,
            acceptanceStatus: .invited,
            permission: permission
        )
    }
}

extension LookupInfo {
    /// Looks up the person with an e-mail address: `{"emailAddress":…}`.
    public static func emailAddress(_ emailAddress: String) -> LookupInfo {
        LookupInfo(emailAddress: emailAddress)
    }

    /// Looks up the person with a phone number: `{"phoneNumber":…}`.
    public static func phoneNumber(_ phoneNumber: String) -> LookupInfo {
        LookupInfo(phoneNumber: phoneNumber)
    }

    /// Looks up the person with a user record name: `{"userRecordName":…}`.
    public static func userRecordName(_ userRecordName: String) -> LookupInfo {
        LookupInfo(userRecordName: userRecordName)
    }
}

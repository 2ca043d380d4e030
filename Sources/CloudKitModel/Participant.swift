extension Participant {
    /// Invites a person to a share.
    ///
    /// ```swift
    /// Participant.invited(.emailAddress("guest@example.com"), permission: .readWrite)
    /// // {"userIdentity":{"lookupInfo":{"emailAddress":"guest@example.com"}},"type":"USER",
    /// //  "acceptanceStatus":"INVITED","permission":"READ_WRITE"}
    /// ```
    ///
    /// - Parameters:
    ///   - lookup: Whom: by e-mail address, telephone number or user record name.
    ///   - permission: What they may do.
    /// - Returns: The participant, as Apple's page on sharing shows one.
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
    /// Looks for the person with an e-mail address: `{"emailAddress":…}`.
    public static func emailAddress(_ emailAddress: String) -> LookupInfo {
        LookupInfo(emailAddress: emailAddress)
    }

    /// Looks for the person with a telephone number: `{"phoneNumber":…}`.
    public static func phoneNumber(_ phoneNumber: String) -> LookupInfo {
        LookupInfo(phoneNumber: phoneNumber)
    }

    /// Looks for the person by the name of their record: `{"userRecordName":…}`.
    public static func userRecordName(_ userRecordName: String) -> LookupInfo {
        LookupInfo(userRecordName: userRecordName)
    }
}

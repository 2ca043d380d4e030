import CloudKitModel
package import CloudKitWebServices
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension RequestContext {
    /// Makes a push token (`tokens/create`).
    ///
    /// A client that calls again with the same `clientId` gets the same token, and the pushes that came meanwhile. A
    /// client without one gets another token each time.
    ///
    /// - Parameter request: `development` or `production`, and the name that the client chose for itself.
    /// - Returns: The token, with the address of its web courier.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for another `apnsEnvironment`, and without a client's name where
    ///   ``EmulatorConfiguration/Unsettled/deviceTokensNeedClientID`` says so; `AUTHENTICATION_REQUIRED` without a user.
    package func createDeviceToken(
        _ request: Components.Schemas.CreateDeviceTokenRequest
    ) throws -> Components.Schemas.CreateDeviceTokenResponse {
        let owner = try subscriber()
        try check(request.apnsEnvironment, request.clientId)
        let (token, courierID): (String, String) = try inDatabase(.public).write { context in
            let known = try context.db.row(
                """
                SELECT token, courier FROM device_token
                WHERE container = ? AND owner = ? AND apns_environment = ? AND client = ? AND is_made
                """,
                [context.containerID, owner, request.apnsEnvironment, request.clientId]
            )
            if let known { return (known[0], known[1]) }
            let (token, courierID) = (identifiers.next(32).base64, identifiers.hex(16))
            try context.db.run(
                """
                INSERT INTO device_token (container, owner, apns_environment, client, token, courier, is_made)
                VALUES (?, ?, ?, ?, ?, ?, 1)
                """,
                [context.containerID, owner, request.apnsEnvironment, request.clientId, token, courierID]
            )
            return (token, courierID)
        }
        return Components.Schemas.CreateDeviceTokenResponse(
            apnsEnvironment: request.apnsEnvironment,
            apnsToken: token,
            webcourierURL: courierURL(courierID)
        )
    }

    /// Registers a push token (`tokens/register`).
    ///
    /// The token is from ``createDeviceToken(_:)``, or from Apple's push service.
    /// ``CloudKitEmulator/takePushes(forDeviceToken:)`` returns the pushes of a token of Apple's push service.
    ///
    /// - Returns: The token with the address of its web courier, the same each time; nothing where
    ///   ``EmulatorConfiguration/Unsettled/deviceTokenRegistration`` says so. A token of Apple's push service has a
    ///   courier, too.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for another `apnsEnvironment`, an empty token and, where
    ///   ``EmulatorConfiguration/Unsettled/deviceTokensNeedClientID`` says so, without a client's name;
    ///   `AUTHENTICATION_REQUIRED` without a user.
    @discardableResult
    package func registerDeviceToken(
        _ request: Components.Schemas.RegisterDeviceTokenRequest
    ) throws -> Components.Schemas.RegisterDeviceTokenResponse {
        let owner = try subscriber()
        try check(request.apnsEnvironment, request.clientId)
        guard !request.apnsToken.isEmpty else { throw EmulatorError.badRequest("apnsToken is required") }
        guard !request.apnsToken.hasControlCharacters else { throw EmulatorError.controlCharacter(in: "apnsToken") }
        let courierID = try inDatabase(.public).write { context in
            let newCourierID = identifiers.hex(16)
            return try context.db.value(
                """
                INSERT INTO device_token (container, owner, apns_environment, client, token, courier, registered)
                VALUES (?, ?, ?, ?, ?, ?, 1)
                ON CONFLICT (container, token) DO UPDATE SET
                    owner = excluded.owner, apns_environment = excluded.apns_environment,
                    client = excluded.client, courier = coalesce(courier, excluded.courier), registered = 1
                RETURNING courier
                """,
                [
                    context.containerID, owner, request.apnsEnvironment, request.clientId, request.apnsToken,
                    newCourierID,
                ],
                as: String.self
            ) ?? newCourierID
        }
        guard configuration.unsettled.deviceTokenRegistration == .answersToken else {
            return Components.Schemas.RegisterDeviceTokenResponse()
        }
        return Components.Schemas.RegisterDeviceTokenResponse(
            apnsEnvironment: request.apnsEnvironment,
            apnsToken: request.apnsToken,
            webcourierURL: courierURL(courierID)
        )
    }

    /// The address of the web courier for a device.
    private func courierURL(_ courierID: String) -> String {
        serverAddress + CloudKitEmulator.courierPath + courierID
    }

    private func check(_ apnsEnvironment: String, _ clientID: String?) throws(EmulatorError) {
        guard apnsEnvironment == "development" || apnsEnvironment == "production" else {
            throw .badRequest("apnsEnvironment is development or production, not '\(apnsEnvironment)'")
        }
        // The words are those of another client's test.
        if clientID?.isEmpty ?? true, configuration.unsettled.deviceTokensNeedClientID {
            throw .badRequest("clientId is required")
        }
        guard clientID?.hasControlCharacters != true else { throw .controlCharacter(in: "clientId") }
    }
}

// MARK: - Fetching pushes

extension CloudKitEmulator {
    /// The path of the web courier's addresses, before a device's secret.
    package static let courierPath = "/web-courier/"

    /// Waits for the next push of a device, as the web courier does, and takes it out of the queue.
    ///
    /// Pushes come in the order of the changes that they report. When two callers wait for the same device, each push
    /// goes to one of them. A change that another process makes to the same file is reported too, within
    /// ``pushPollInterval``.
    ///
    /// - Parameter courierID: The last part of the address of the device's web courier.
    /// - Returns: The JSON of a `PushPayload`.
    /// - Throws: An ``EmulatorError``: `NOT_FOUND` when the token is not or no longer known. `CancellationError` when
    ///   the task is cancelled.
    public func nextPush(forCourier courierID: String) async throws -> [UInt8] {
        while true {
            let count = pushSignal.count
            if let push = try takePush(forCourier: courierID) { return push }
            try await waitForPush(forCourier: courierID, after: count)
        }
    }

    /// The interval at which a call that waits for a push looks for pushes that other processes queued in the same
    /// file.
    public static let pushPollInterval = Duration.milliseconds(200)

    /// Waits until this emulator queues a push for any device, or another process queues one for this device.
    private func waitForPush(forCourier courierID: String, after count: Int) async throws {
        guard isStorageShared else { return try await pushSignal.wait(after: count) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.pushSignal.wait(after: count) }
            group.addTask {
                repeat {
                    try await Task.sleep(for: Self.pushPollInterval)
                } while try !self.hasPush(forCourier: courierID)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Takes the next push of a device out of the queue, when there is one.
    ///
    /// - Parameter courierID: The last part of the address of the device's web courier.
    /// - Returns: The JSON of a `PushPayload`.
    /// - Throws: An ``EmulatorError``: `NOT_FOUND` when the token is not or no longer known.
    public func takePush(forCourier courierID: String) throws -> [UInt8]? {
        guard try hasPush(forCourier: courierID) else { return nil }
        return try write { db in
            try db.value(
                """
                DELETE FROM push WHERE id = (
                    SELECT min(push.id) FROM push JOIN device_token ON device_token.id = push.device_token
                    WHERE courier = ?
                ) RETURNING payload
                """,
                [courierID],
                as: Data.self
            ).map(Array.init)
        }
    }

    /// Whether a push is queued for a device.
    ///
    /// - Throws: `NOT_FOUND` when the token is not or no longer known.
    private func hasPush(forCourier courierID: String) throws(EmulatorError) -> Bool {
        try read { db in
            let row = try db.row(
                """
                SELECT EXISTS (SELECT 1 FROM push WHERE push.device_token = device_token.id)
                FROM device_token WHERE courier = ?
                """,
                [courierID]
            )
            guard let row else { throw EmulatorError(.notFound, "there is no such token") }
            return row[0]
        }
    }

    /// Takes all pushes that wait for a device, by its token: for devices that get pushes from Apple's push service.
    ///
    /// - Parameter apnsToken: The token, in any container.
    /// - Returns: The JSON of each `PushPayload`, in order.
    /// - Throws: An ``EmulatorError``: an `INTERNAL_ERROR` when the storage fails.
    public func takePushes(forDeviceToken apnsToken: String) throws -> [[UInt8]] {
        try write { db in
            let devices = "SELECT id FROM device_token WHERE token = ?"
            let sql = "SELECT payload FROM push WHERE device_token IN (\(devices)) ORDER BY id"
            let payloads: [Data] = try db.values(sql, [apnsToken])
            try db.run("DELETE FROM push WHERE device_token IN (\(devices))", [apnsToken])
            return payloads.map(Array.init)
        }
    }

    /// Removes all device tokens of a user with their queued pushes.
    ///
    /// A test calls it to make a waiting client fail with `NOT_FOUND`.
    ///
    /// - Throws: An ``EmulatorError``: `INTERNAL_ERROR` when the storage fails.
    public func revokeDeviceTokens(of userRecordName: String) throws {
        try write { db in
            try db.run(
                "DELETE FROM push WHERE device_token IN (SELECT id FROM device_token WHERE owner = ?)",
                [userRecordName]
            )
            try db.run("DELETE FROM device_token WHERE owner = ?", [userRecordName])
        }
        pushSignal.send()
    }

    /// Waits until exactly `count` calls wait for a push, so that a test does not need to sleep.
    ///
    /// - Parameter count: The number of calls.
    package func waitForCouriers(_ count: Int) async {
        await pushSignal.wait(forWaiters: count)
    }
}

/// A row of the table `device_token`: a receiver of pushes.
struct DeviceTokenRow {
    let id: Int64
    let isRegistered: Bool

    static func all(of owner: String, container: Int64, _ db: Database) throws -> [DeviceTokenRow] {
        try db.rows(
            "SELECT id, registered FROM device_token WHERE container = ? AND owner = ? ORDER BY id",
            [container, owner]
        ).map { DeviceTokenRow(id: $0[0], isRegistered: $0[1]) }
    }

    /// Increments the device's badge.
    func countBadge(_ db: Database) throws -> Int64? {
        try db.value("UPDATE device_token SET badge = badge + 1 WHERE id = ? RETURNING badge", [id], as: Int64.self)
    }

    /// Puts a push at the end of the queue. Where the queue is full, the oldest push is removed: pushes are hints, not
    /// a log.
    func queue(_ payload: [UInt8], atMost limit: Int, _ db: Database) throws {
        try db.run("INSERT INTO push (device_token, payload) VALUES (?, ?)", [id, Data(payload)])
        try db.run(
            """
            DELETE FROM push WHERE device_token = ?1 AND id <= (
                SELECT id FROM push WHERE device_token = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2
            )
            """,
            [id, limit]
        )
    }
}

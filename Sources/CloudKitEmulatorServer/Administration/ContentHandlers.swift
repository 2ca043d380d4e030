import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel

/// The operations of the document about containers and zones.
extension AdministrationHandlers {
    func listContainers(
        _ input: Operations.ListContainers.Input,
        context: AdministrationHost
    ) throws -> Operations.ListContainers.Output {
        var containers = try context.emulator.containers().map { container, environments in
            Components.Schemas.ContainerSummary(container: container, environments: environments.map { .init($0) })
        }
        let own = context.administration.container
        if !containers.contains(where: { $0.container == own }) {
            containers.append(.init(container: own, environments: []))
            containers.sort { $0.container < $1.container }
        }
        return .ok(.init(body: .json(.init(containers: containers))))
    }

    func listZones(
        _ input: Operations.ListZones.Input,
        context: AdministrationHost
    ) throws -> Operations.ListZones.Output {
        let summaries = try context.emulator.zoneSummaries(
            of: Self.checked(input.path.container),
            in: .init(input.path.environment)
        )
        let zones = summaries.map { summary in
            Components.Schemas.ZoneSummary(
                database: summary.zone.owner == nil ? ._public : ._private,
                ownerRecordName: summary.zone.owner,
                zoneName: summary.zone.zoneName,
                isDeleted: summary.zone.isDeleted,
                records: summary.records,
                recordBytes: summary.recordBytes,
                assetBytes: summary.assetBytes,
                changes: summary.zone.sequence,
                syncToken: summary.syncToken
            )
        }
        return .ok(.init(body: .json(.init(zones: zones))))
    }

    func listAllSubscriptions(
        _ input: Operations.ListAllSubscriptions.Input,
        context: AdministrationHost
    ) throws -> Operations.ListAllSubscriptions.Output {
        let (container, environment) = (
            try Self.checked(input.path.container), ContainerEnvironment(input.path.environment)
        )
        let subscriptions = try context.emulator.subscriptions(of: container, in: environment).map { summary in
            Components.Schemas.SubscriptionSummary(
                subscriptionID: summary.subscriptionID,
                ownerRecordName: summary.owner,
                database: .init(summary.scope),
                body: String(decoding: summary.body, as: UTF8.self),
                devices: summary.devices,
                pushes: summary.pushes
            )
        }
        let pushes = context.emulator.sentPushes(of: container, in: environment).map { push in
            Components.Schemas.PushSummary(
                timestamp: push.time.milliseconds,
                subscriptionID: push.subscriptionID,
                ownerRecordName: push.owner,
                devices: push.devices,
                payload: String(decoding: push.payload, as: UTF8.self)
            )
        }
        return .ok(.init(body: .json(.init(subscriptions: subscriptions, pushes: pushes))))
    }
}

extension Components.Schemas.DatabaseName {
    fileprivate init(_ scope: DatabaseScope) {
        self =
            switch scope {
            case .public: ._public
            case .private: ._private
            case .shared: .shared
            }
    }
}

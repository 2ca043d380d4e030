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
}

import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A closure that responds to the calls of one operation.
typealias Handler<Input, Output> = @Sendable (Input) async throws -> Output

/// An operation was called for which the test has no handler.
struct UnexpectedCall: Error {}

@Sendable private func unexpected<Input, Output>(_ input: Input) async throws -> Output {
    throw UnexpectedCall()
}

/// The handlers of a server. A test sets those of the operations that it uses.
struct Handlers: Sendable {
    var getName: Handler<Operations.getName.Input, Operations.getName.Output> = unexpected
    var getArchived: Handler<Operations.getArchived.Input, Operations.getArchived.Output> = unexpected
    var getValues: Handler<Operations.getValues.Input, Operations.getValues.Output> = unexpected
    var getPrefixed: Handler<Operations.getPrefixed.Input, Operations.getPrefixed.Output> = unexpected
    var getSpread: Handler<Operations.getSpread.Input, Operations.getSpread.Output> = unexpected
    var query: Handler<Operations.query.Input, Operations.query.Output> = unexpected
    var queryLists: Handler<Operations.queryLists.Input, Operations.queryLists.Output> = unexpected
    var queryExploded: Handler<Operations.queryExploded.Input, Operations.queryExploded.Output> = unexpected
    var queryJoined: Handler<Operations.queryJoined.Input, Operations.queryJoined.Output> = unexpected
    var queryDeep: Handler<Operations.queryDeep.Input, Operations.queryDeep.Output> = unexpected
    var queryDeepRequired: Handler<Operations.queryDeepRequired.Input, Operations.queryDeepRequired.Output> = unexpected
    var queryRequired: Handler<Operations.queryRequired.Input, Operations.queryRequired.Output> = unexpected
    var queryNested: Handler<Operations.queryNested.Input, Operations.queryNested.Output> = unexpected
    var sendHeaders: Handler<Operations.sendHeaders.Input, Operations.sendHeaders.Output> = unexpected
    var requireHeader: Handler<Operations.requireHeader.Input, Operations.requireHeader.Output> = unexpected
    var sendCookies: Handler<Operations.sendCookies.Input, Operations.sendCookies.Output> = unexpected
    var requireCookie: Handler<Operations.requireCookie.Input, Operations.requireCookie.Output> = unexpected
    var queryDelimited: Handler<Operations.queryDelimited.Input, Operations.queryDelimited.Output> = unexpected
    var sendJson: Handler<Operations.sendJson.Input, Operations.sendJson.Output> = unexpected
    var overlap: Handler<Operations.overlap.Input, Operations.overlap.Output> = unexpected
    var deleteOverlap: Handler<Operations.deleteOverlap.Input, Operations.deleteOverlap.Output> = unexpected
    var useReferences: Handler<Operations.useReferences.Input, Operations.useReferences.Output> = unexpected
    var exchange: Handler<Operations.exchange.Input, Operations.exchange.Output> = unexpected
    var sendMedia: Handler<Operations.sendMedia.Input, Operations.sendMedia.Output> = unexpected
    var sendAny: Handler<Operations.sendAny.Input, Operations.sendAny.Output> = unexpected
    var sendCharset: Handler<Operations.sendCharset.Input, Operations.sendCharset.Output> = unexpected
    var patchOptional: Handler<Operations.patchOptional.Input, Operations.patchOptional.Output> = unexpected
    var putNullable: Handler<Operations.putNullable.Input, Operations.putNullable.Output> = unexpected
    var sendFree: Handler<Operations.sendFree.Input, Operations.sendFree.Output> = unexpected
    var sendInline: Handler<Operations.sendInline.Input, Operations.sendInline.Output> = unexpected
    var sendList: Handler<Operations.sendList.Input, Operations.sendList.Output> = unexpected
    var sendString: Handler<Operations.sendString.Input, Operations.sendString.Output> = unexpected
    var sendReferenced: Handler<Operations.sendReferenced.Input, Operations.sendReferenced.Output> = unexpected
    var sendRequiredReference:
        Handler<Operations.sendRequiredReference.Input, Operations.sendRequiredReference.Output> = unexpected
    var sendForm: Handler<Operations.sendForm.Input, Operations.sendForm.Output> = unexpected
    var sendFreeForm: Handler<Operations.sendFreeForm.Input, Operations.sendFreeForm.Output> = unexpected
    var sendListForm: Handler<Operations.sendListForm.Input, Operations.sendListForm.Output> = unexpected
    var sendMomentForm: Handler<Operations.sendMomentForm.Input, Operations.sendMomentForm.Output> = unexpected
    var sendAnyForm: Handler<Operations.sendAnyForm.Input, Operations.sendAnyForm.Output> = unexpected
    var sendMessage: Handler<Operations.sendMessage.Input, Operations.sendMessage.Output> = unexpected
    var sendSheet: Handler<Operations.sendSheet.Input, Operations.sendSheet.Output> = unexpected
    var upload: Handler<Operations.upload.Input, Operations.upload.Output> = unexpected
    var sendParts: Handler<Operations.sendParts.Input, Operations.sendParts.Output> = unexpected
    var sendClosed: Handler<Operations.sendClosed.Input, Operations.sendClosed.Output> = unexpected
    var sendOpen: Handler<Operations.sendOpen.Input, Operations.sendOpen.Output> = unexpected
    var sendTyped: Handler<Operations.sendTyped.Input, Operations.sendTyped.Output> = unexpected
    var sendNotes: Handler<Operations.sendNotes.Input, Operations.sendNotes.Output> = unexpected
    var sendTexts: Handler<Operations.sendTexts.Input, Operations.sendTexts.Output> = unexpected
    var sendUntyped: Handler<Operations.sendUntyped.Input, Operations.sendUntyped.Output> = unexpected
    var sendAlbum: Handler<Operations.sendAlbum.Input, Operations.sendAlbum.Output> = unexpected
    var sendOptionalParts: Handler<Operations.sendOptionalParts.Input, Operations.sendOptionalParts.Output> = unexpected
    var everyStatus: Handler<Operations.everyStatus.Input, Operations.everyStatus.Output> = unexpected
    var everyRange: Handler<Operations.everyRange.Input, Operations.everyRange.Output> = unexpected
    var failing: Handler<Operations.failing.Input, Operations.failing.Output> = unexpected
    var negotiate: Handler<Operations.negotiate.Input, Operations.negotiate.Output> = unexpected
    var parameterised: Handler<Operations.parameterised.Input, Operations.parameterised.Output> = unexpected
    var parameterisedAlone: Handler<Operations.parameterisedAlone.Input, Operations.parameterisedAlone.Output> =
        unexpected
    var shadows: Handler<Operations.shadows.Input, Operations.shadows.Output> = unexpected
    var shadowParts: Handler<Operations.shadowParts.Input, Operations.shadowParts.Output> = unexpected
    var swiftNamed: Handler<Operations.Swift_2.Input, Operations.Swift_2.Output> = unexpected
    var operationsNamed: Handler<Operations.Operations_2.Input, Operations.Operations_2.Output> = unexpected
    var componentsNamed: Handler<Operations.Components_2.Input, Operations.Components_2.Output> = unexpected
    var wildcards: Handler<Operations.wildcards.Input, Operations.wildcards.Output> = unexpected
    var textWildcard: Handler<Operations.textWildcard.Input, Operations.textWildcard.Output> = unexpected
    var answerHeaders: Handler<Operations.answerHeaders.Input, Operations.answerHeaders.Output> = unexpected
    var stream: Handler<Operations.stream.Input, Operations.stream.Output> = unexpected
    var sendStream: Handler<Operations.sendStream.Input, Operations.sendStream.Output> = unexpected
    var getDerived:
        Handler<
            Operations.get_sol_derived_sol__lcub_id_rcub_.Input, Operations.get_sol_derived_sol__lcub_id_rcub_.Output
        > = unexpected
    var queryForm: Handler<Operations.queryForm.Input, Operations.queryForm.Output> = unexpected
    var queryRequiredForm: Handler<Operations.queryRequiredForm.Input, Operations.queryRequiredForm.Output> = unexpected
    var queryJson: Handler<Operations.queryJson.Input, Operations.queryJson.Output> = unexpected
    var queryRequiredJson: Handler<Operations.queryRequiredJson.Input, Operations.queryRequiredJson.Output> = unexpected
    var queryShelf: Handler<Operations.queryShelf.Input, Operations.queryShelf.Output> = unexpected
    var copyShelf: Handler<Operations.copyShelf.Input, Operations.copyShelf.Output> = unexpected
    var tidyShelf:
        Handler<
            Operations.x_hyphen_tidy_excl__sol_shelves_sol__lcub_id_rcub_.Input,
            Operations.x_hyphen_tidy_excl__sol_shelves_sol__lcub_id_rcub_.Output
        > = unexpected
    var words: Handler<Operations._default.Input, Operations._default.Output> = unexpected
    var headWords: Handler<Operations.head_space_words.Input, Operations.head_space_words.Output> = unexpected
    var wordsOptions: Handler<Operations.words_period_options.Input, Operations.words_period_options.Output> =
        unexpected
    var traceWords: Handler<Operations.trace_hyphen_words.Input, Operations.trace_hyphen_words.Output> = unexpected

    /// A client that calls these handlers in the same process.
    func client(
        configuration: Configuration = .init(),
        middlewares: [any ClientMiddleware] = [],
        serverMiddlewares: [any ServerMiddleware] = [ErrorHandlingMiddleware()]
    ) throws -> Client {
        let transport = InProcessTransport()
        try Service(handlers: self).registerHandlers(
            on: transport,
            configuration: configuration,
            middlewares: serverMiddlewares
        )
        return Client(
            serverURL: .defaultOpenAPIServerURL,
            configuration: configuration,
            transport: transport,
            middlewares: middlewares
        )
    }
}

/// Implements the generated protocol with the handlers.
struct Service: APIProtocol {
    var handlers: Handlers

    func getName(_ input: Operations.getName.Input) async throws -> Operations.getName.Output {
        try await handlers.getName(input)
    }

    func getArchived(_ input: Operations.getArchived.Input) async throws -> Operations.getArchived.Output {
        try await handlers.getArchived(input)
    }

    func getValues(_ input: Operations.getValues.Input) async throws -> Operations.getValues.Output {
        try await handlers.getValues(input)
    }

    func getPrefixed(_ input: Operations.getPrefixed.Input) async throws -> Operations.getPrefixed.Output {
        try await handlers.getPrefixed(input)
    }

    func getSpread(_ input: Operations.getSpread.Input) async throws -> Operations.getSpread.Output {
        try await handlers.getSpread(input)
    }

    func query(_ input: Operations.query.Input) async throws -> Operations.query.Output {
        try await handlers.query(input)
    }

    func queryLists(_ input: Operations.queryLists.Input) async throws -> Operations.queryLists.Output {
        try await handlers.queryLists(input)
    }

    func queryExploded(_ input: Operations.queryExploded.Input) async throws -> Operations.queryExploded.Output {
        try await handlers.queryExploded(input)
    }

    func queryJoined(_ input: Operations.queryJoined.Input) async throws -> Operations.queryJoined.Output {
        try await handlers.queryJoined(input)
    }

    func queryDeep(_ input: Operations.queryDeep.Input) async throws -> Operations.queryDeep.Output {
        try await handlers.queryDeep(input)
    }

    func queryDeepRequired(_ input: Operations.queryDeepRequired.Input) async throws
        -> Operations.queryDeepRequired.Output
    {
        try await handlers.queryDeepRequired(input)
    }

    func queryRequired(_ input: Operations.queryRequired.Input) async throws -> Operations.queryRequired.Output {
        try await handlers.queryRequired(input)
    }

    func queryNested(_ input: Operations.queryNested.Input) async throws -> Operations.queryNested.Output {
        try await handlers.queryNested(input)
    }

    func sendHeaders(_ input: Operations.sendHeaders.Input) async throws -> Operations.sendHeaders.Output {
        try await handlers.sendHeaders(input)
    }

    func requireHeader(_ input: Operations.requireHeader.Input) async throws -> Operations.requireHeader.Output {
        try await handlers.requireHeader(input)
    }

    func sendCookies(_ input: Operations.sendCookies.Input) async throws -> Operations.sendCookies.Output {
        try await handlers.sendCookies(input)
    }

    func requireCookie(_ input: Operations.requireCookie.Input) async throws -> Operations.requireCookie.Output {
        try await handlers.requireCookie(input)
    }

    func queryDelimited(_ input: Operations.queryDelimited.Input) async throws -> Operations.queryDelimited.Output {
        try await handlers.queryDelimited(input)
    }

    func sendJson(_ input: Operations.sendJson.Input) async throws -> Operations.sendJson.Output {
        try await handlers.sendJson(input)
    }

    func overlap(_ input: Operations.overlap.Input) async throws -> Operations.overlap.Output {
        try await handlers.overlap(input)
    }

    func deleteOverlap(_ input: Operations.deleteOverlap.Input) async throws -> Operations.deleteOverlap.Output {
        try await handlers.deleteOverlap(input)
    }

    func useReferences(_ input: Operations.useReferences.Input) async throws -> Operations.useReferences.Output {
        try await handlers.useReferences(input)
    }

    func exchange(_ input: Operations.exchange.Input) async throws -> Operations.exchange.Output {
        try await handlers.exchange(input)
    }

    func sendMedia(_ input: Operations.sendMedia.Input) async throws -> Operations.sendMedia.Output {
        try await handlers.sendMedia(input)
    }

    func sendAny(_ input: Operations.sendAny.Input) async throws -> Operations.sendAny.Output {
        try await handlers.sendAny(input)
    }

    func sendCharset(_ input: Operations.sendCharset.Input) async throws -> Operations.sendCharset.Output {
        try await handlers.sendCharset(input)
    }

    func patchOptional(_ input: Operations.patchOptional.Input) async throws -> Operations.patchOptional.Output {
        try await handlers.patchOptional(input)
    }

    func putNullable(_ input: Operations.putNullable.Input) async throws -> Operations.putNullable.Output {
        try await handlers.putNullable(input)
    }

    func sendFree(_ input: Operations.sendFree.Input) async throws -> Operations.sendFree.Output {
        try await handlers.sendFree(input)
    }

    func sendInline(_ input: Operations.sendInline.Input) async throws -> Operations.sendInline.Output {
        try await handlers.sendInline(input)
    }

    func sendList(_ input: Operations.sendList.Input) async throws -> Operations.sendList.Output {
        try await handlers.sendList(input)
    }

    func sendString(_ input: Operations.sendString.Input) async throws -> Operations.sendString.Output {
        try await handlers.sendString(input)
    }

    func sendReferenced(_ input: Operations.sendReferenced.Input) async throws -> Operations.sendReferenced.Output {
        try await handlers.sendReferenced(input)
    }

    func sendRequiredReference(_ input: Operations.sendRequiredReference.Input) async throws
        -> Operations.sendRequiredReference.Output
    {
        try await handlers.sendRequiredReference(input)
    }

    func sendForm(_ input: Operations.sendForm.Input) async throws -> Operations.sendForm.Output {
        try await handlers.sendForm(input)
    }

    func sendFreeForm(_ input: Operations.sendFreeForm.Input) async throws -> Operations.sendFreeForm.Output {
        try await handlers.sendFreeForm(input)
    }

    func upload(_ input: Operations.upload.Input) async throws -> Operations.upload.Output {
        try await handlers.upload(input)
    }

    func sendParts(_ input: Operations.sendParts.Input) async throws -> Operations.sendParts.Output {
        try await handlers.sendParts(input)
    }

    func sendClosed(_ input: Operations.sendClosed.Input) async throws -> Operations.sendClosed.Output {
        try await handlers.sendClosed(input)
    }

    func sendOpen(_ input: Operations.sendOpen.Input) async throws -> Operations.sendOpen.Output {
        try await handlers.sendOpen(input)
    }

    func sendTyped(_ input: Operations.sendTyped.Input) async throws -> Operations.sendTyped.Output {
        try await handlers.sendTyped(input)
    }

    func sendNotes(_ input: Operations.sendNotes.Input) async throws -> Operations.sendNotes.Output {
        try await handlers.sendNotes(input)
    }

    func sendTexts(_ input: Operations.sendTexts.Input) async throws -> Operations.sendTexts.Output {
        try await handlers.sendTexts(input)
    }

    func sendUntyped(_ input: Operations.sendUntyped.Input) async throws -> Operations.sendUntyped.Output {
        try await handlers.sendUntyped(input)
    }

    func sendAlbum(_ input: Operations.sendAlbum.Input) async throws -> Operations.sendAlbum.Output {
        try await handlers.sendAlbum(input)
    }

    func sendListForm(_ input: Operations.sendListForm.Input) async throws -> Operations.sendListForm.Output {
        try await handlers.sendListForm(input)
    }

    func sendMomentForm(_ input: Operations.sendMomentForm.Input) async throws -> Operations.sendMomentForm.Output {
        try await handlers.sendMomentForm(input)
    }

    func sendAnyForm(_ input: Operations.sendAnyForm.Input) async throws -> Operations.sendAnyForm.Output {
        try await handlers.sendAnyForm(input)
    }

    func sendMessage(_ input: Operations.sendMessage.Input) async throws -> Operations.sendMessage.Output {
        try await handlers.sendMessage(input)
    }

    func sendSheet(_ input: Operations.sendSheet.Input) async throws -> Operations.sendSheet.Output {
        try await handlers.sendSheet(input)
    }

    func sendOptionalParts(_ input: Operations.sendOptionalParts.Input) async throws
        -> Operations.sendOptionalParts.Output
    {
        try await handlers.sendOptionalParts(input)
    }

    func everyStatus(_ input: Operations.everyStatus.Input) async throws -> Operations.everyStatus.Output {
        try await handlers.everyStatus(input)
    }

    func everyRange(_ input: Operations.everyRange.Input) async throws -> Operations.everyRange.Output {
        try await handlers.everyRange(input)
    }

    func failing(_ input: Operations.failing.Input) async throws -> Operations.failing.Output {
        try await handlers.failing(input)
    }

    func negotiate(_ input: Operations.negotiate.Input) async throws -> Operations.negotiate.Output {
        try await handlers.negotiate(input)
    }

    func parameterised(_ input: Operations.parameterised.Input) async throws -> Operations.parameterised.Output {
        try await handlers.parameterised(input)
    }

    func parameterisedAlone(_ input: Operations.parameterisedAlone.Input) async throws
        -> Operations.parameterisedAlone.Output
    {
        try await handlers.parameterisedAlone(input)
    }

    func shadows(_ input: Operations.shadows.Input) async throws -> Operations.shadows.Output {
        try await handlers.shadows(input)
    }

    func shadowParts(_ input: Operations.shadowParts.Input) async throws -> Operations.shadowParts.Output {
        try await handlers.shadowParts(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func Swift(_ input: Operations.Swift_2.Input) async throws -> Operations.Swift_2.Output {
        try await handlers.swiftNamed(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func Operations_2(_ input: Operations.Operations_2.Input) async throws -> Operations.Operations_2.Output {
        try await handlers.operationsNamed(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func Components(_ input: Operations.Components_2.Input) async throws -> Operations.Components_2.Output {
        try await handlers.componentsNamed(input)
    }

    func wildcards(_ input: Operations.wildcards.Input) async throws -> Operations.wildcards.Output {
        try await handlers.wildcards(input)
    }

    func textWildcard(_ input: Operations.textWildcard.Input) async throws -> Operations.textWildcard.Output {
        try await handlers.textWildcard(input)
    }

    func answerHeaders(_ input: Operations.answerHeaders.Input) async throws -> Operations.answerHeaders.Output {
        try await handlers.answerHeaders(input)
    }

    func stream(_ input: Operations.stream.Input) async throws -> Operations.stream.Output {
        try await handlers.stream(input)
    }

    func sendStream(_ input: Operations.sendStream.Input) async throws -> Operations.sendStream.Output {
        try await handlers.sendStream(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func get_sol_derived_sol__lcub_id_rcub_(_ input: Operations.get_sol_derived_sol__lcub_id_rcub_.Input) async throws
        -> Operations.get_sol_derived_sol__lcub_id_rcub_.Output
    {
        try await handlers.getDerived(input)
    }

    func queryForm(_ input: Operations.queryForm.Input) async throws -> Operations.queryForm.Output {
        try await handlers.queryForm(input)
    }

    func queryRequiredForm(_ input: Operations.queryRequiredForm.Input) async throws
        -> Operations.queryRequiredForm.Output
    {
        try await handlers.queryRequiredForm(input)
    }

    func queryJson(_ input: Operations.queryJson.Input) async throws -> Operations.queryJson.Output {
        try await handlers.queryJson(input)
    }

    func queryRequiredJson(_ input: Operations.queryRequiredJson.Input) async throws
        -> Operations.queryRequiredJson.Output
    {
        try await handlers.queryRequiredJson(input)
    }

    func queryShelf(_ input: Operations.queryShelf.Input) async throws -> Operations.queryShelf.Output {
        try await handlers.queryShelf(input)
    }

    func copyShelf(_ input: Operations.copyShelf.Input) async throws -> Operations.copyShelf.Output {
        try await handlers.copyShelf(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func x_hyphen_tidy_excl__sol_shelves_sol__lcub_id_rcub_(
        _ input: Operations.x_hyphen_tidy_excl__sol_shelves_sol__lcub_id_rcub_.Input
    ) async throws -> Operations.x_hyphen_tidy_excl__sol_shelves_sol__lcub_id_rcub_.Output {
        try await handlers.tidyShelf(input)
    }

    func _default(_ input: Operations._default.Input) async throws -> Operations._default.Output {
        try await handlers.words(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func head_space_words(_ input: Operations.head_space_words.Input) async throws -> Operations.head_space_words.Output
    {
        try await handlers.headWords(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func words_period_options(_ input: Operations.words_period_options.Input) async throws
        -> Operations.words_period_options.Output
    {
        try await handlers.wordsOptions(input)
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func trace_hyphen_words(_ input: Operations.trace_hyphen_words.Input) async throws
        -> Operations.trace_hyphen_words.Output
    {
        try await handlers.traceWords(input)
    }

    @available(*, deprecated)
    func oldWords(_ input: Operations.oldWords.Input) async throws -> Operations.oldWords.Output {
        .noContent
    }
}

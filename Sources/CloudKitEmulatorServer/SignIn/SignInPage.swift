import CloudKitEmulator
import CloudKitModel
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

/// The page at `redirectURL`: a person chooses a user, and the web authentication token goes to the API token's
/// callback.
///
/// The service asks for an Apple Account, a password and a code. The emulator has none of these. A person creates a
/// user, or gives the sign-in code of the server and chooses one of the emulator's users. The result is the same as the
/// service's: a redirect to the callback with `ckWebAuthToken` and `ckSession`, which hold the same token, or a message
/// with both to the window that opened the page (Apple's archived page on web authentication; CloudKit JS reads
/// `ckSession`). When the person cancels, the error message is `accessError`, which CloudKit JS knows. It is a guess
/// that a redirect has it in the query as `errorMessage`.
///
/// A page of another site can open this page and send its form, but not read it. So the form has a code of the page,
/// and is refused when the browser says that another page sent it. A message goes to one origin only: that of the page
/// whose request needed a user, or that of the page that opened the window.
struct SignInPage {
    static let path = "/sign-in"

    private let emulator: CloudKitEmulator
    private let configuration: CloudKitEmulatorServer.Configuration

    init(_ emulator: CloudKitEmulator, _ configuration: CloudKitEmulatorServer.Configuration) {
        self.emulator = emulator
        self.configuration = configuration
    }

    /// Shows the page, or handles its form.
    func respond(to request: HTTPRequest, form: ArraySlice<UInt8>) throws -> (HTTPResponse, HTTPBody?) {
        switch request.method {
        case .get, .head:
            let ticket = FormValues(query: request.path ?? "")["oauth_token"] ?? ""
            guard let applicant = try emulator.signInRequest(ofTicket: ticket) else { return outdated }
            let form = Form(ticket: ticket, audience: applicant.origin ?? opener(of: request))
            return try show(form, of: applicant, code: .missing, isHead: request.method == .head)
        case .post:
            let values = FormValues(String(decoding: form, as: UTF8.self))
            let form = Form(ticket: values["oauth_token"] ?? "", audience: values["origin"])
            guard isOwn(request), values["form_code"] == code(of: form) else { return foreign }
            guard let applicant = try emulator.signInRequest(ofTicket: form.ticket) else { return outdated }
            return try finish(applicant, form, values)
        default:
            var response = HTTPResponse(status: .methodNotAllowed)
            response.headerFields[.allow] = "GET, HEAD, POST"
            return (response, nil)
        }
    }

    /// What the form of a page is for.
    private struct Form {
        var ticket: String
        /// The origin to whose page the result goes; `nil` when no page is known.
        var audience: String?
    }

    /// The sign-in code as far as a person gave it.
    private enum Code {
        case missing
        case wrong
        case right
    }

    private func code(of form: Form) -> String {
        emulator.makeSignInFormCode(ticket: form.ticket, origin: form.audience)
    }

    private func code(in values: FormValues) -> Code {
        guard let expected = configuration.signInCode else { return .right }
        guard let code = values["sign_in_code"] else { return .missing }
        return code.filter { !$0.isWhitespace }.lowercased() == expected.lowercased() ? .right : .wrong
    }

    /// The origin of the page that opened the window, for a request that a program sent.
    private func opener(of request: HTTPRequest) -> String? {
        guard let address = request.headerFields[.referer], let origin = WebOrigin(ofAddress: address) else {
            return nil
        }
        return configuration.allowedOrigins.allows(origin.text) ? origin.text : nil
    }

    /// Whether a form comes from a page of this server, as far as the browser says.
    private func isOwn(_ request: HTTPRequest) -> Bool {
        // Behind a proxy that ends TLS, the server does not know the scheme of its own address.
        if let site = request.headerFields[.secFetchSite] { return site == "same-origin" }
        guard let origin = request.headerFields[.origin] else { return true }
        return request.goes(toOrigin: origin)
    }

    /// Shows the users if the person gave the sign-in code, and asks for the code otherwise.
    private func show(
        _ form: Form,
        of applicant: SignInRequest,
        code: Code,
        codeText: String? = nil,
        isHead: Bool = false
    ) throws -> (HTTPResponse, HTTPBody?) {
        let isOpen = code == .right || configuration.signInCode == nil
        let fields = [
            ("oauth_token", form.ticket), ("origin", form.audience), ("form_code", self.code(of: form)),
            ("sign_in_code", isOpen ? codeText : nil),
        ].compactMap { name, value in value.map { (name: name, value: $0) } }
        let people: SignInHTML.People =
            isOpen ? .list(try emulator.listSignInCandidates()) : .hidden(isCodeWrong: code == .wrong)
        let page = SignInHTML.choice(of: people, container: applicant.container, fields: fields)
        return Self.page(page, status: code == .wrong ? .forbidden : .ok, isHead: isHead)
    }

    private func finish(
        _ applicant: SignInRequest,
        _ form: Form,
        _ values: FormValues
    ) throws -> (HTTPResponse, HTTPBody?) {
        let choice = values["user"] ?? "new"
        if choice != "new", choice != "cancel" {
            let code = code(in: values)
            guard code == .right, choice != "list" else {
                return try show(form, of: applicant, code: code, codeText: values["sign_in_code"])
            }
            guard try emulator.userExists(choice) else {
                return Self.page(
                    SignInHTML.notice("There is no such person", "Go back and choose one of the list."),
                    status: .badRequest
                )
            }
        }
        guard try emulator.redeemSignInTicket(form.ticket) else { return outdated }
        if choice == "cancel" { return deliver([("errorMessage", "accessError")], of: applicant, form, name: nil) }
        let user =
            choice == "new"
            ? try emulator.createUser(
                NameComponents(givenName: values["given_name"], familyName: values["family_name"]),
                emailAddress: values["email_address"]
            )
            : choice
        let token = try emulator.issueWebAuthToken(
            for: user,
            container: applicant.container,
            environment: applicant.environment,
            keepsSignedIn: values["keep_signed_in"] != nil
        )
        let name = try emulator.listSignInCandidates().first { $0.userRecordName == user }?.displayName
        return deliver([("ckWebAuthToken", token), ("ckSession", token)], of: applicant, form, name: name ?? user)
    }

    /// Sends the result to the program.
    private func deliver(
        _ items: [(name: String, value: String)],
        of applicant: SignInRequest,
        _ form: Form,
        name: String?
    ) -> (HTTPResponse, HTTPBody?) {
        switch applicant.callback {
        case .redirect(let address):
            let query = items.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
            // A fragment stays at the end.
            let parts = address.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let mark = parts[0].contains("?") ? "&" : "?"
            var response = HTTPResponse(status: .seeOther)
            response.headerFields[.location] = "\(parts[0])\(mark)\(query)" + (parts.count > 1 ? "#\(parts[1])" : "")
            response.headerFields[.cacheControl] = "no-store"
            return (response, nil)
        case .postMessage:
            return Self.page(SignInHTML.message(items, to: form.audience, name: name))
        }
    }

    private var outdated: (HTTPResponse, HTTPBody?) {
        Self.page(
            SignInHTML.notice(
                "This sign-in page is out of date",
                "Its address is good for one sign-in within 15 minutes. Go back to the program and ask it to sign in again."
            ),
            status: .badRequest
        )
    }

    private var foreign: (HTTPResponse, HTTPBody?) {
        Self.page(
            SignInHTML.notice(
                "This form is not from the sign-in page",
                "Another page sent it, so no one was signed in. Go back to the program and ask it to sign in again."
            ),
            status: .forbidden
        )
    }

    private static func page(
        _ html: String,
        status: HTTPResponse.Status = .ok,
        isHead: Bool = false
    ) -> (HTTPResponse, HTTPBody?) {
        var response = HTTPResponse(status: status)
        response.headerFields[.contentType] = "text/html; charset=utf-8"
        response.headerFields[.cacheControl] = "no-store"
        response.headerFields[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
        response.headerFields[.xContentTypeOptions] = "nosniff"
        // The address has the ticket. With `no-referrer`, browsers would leave the origin out of the form's request.
        response.headerFields[.referrerPolicy] = "same-origin"
        return (response, isHead ? nil : HTTPBody(html))
    }
}

/// The values of a form, or of a query. Empty values count as absent.
private struct FormValues {
    private var values: [String: String] = [:]

    init(_ text: String) {
        for item in text.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                PercentEncoding.decode(String($0.map { $0 == "+" ? " " : $0 }))
            }
            guard parts.count == 2, !parts[1].isEmpty else { continue }
            values[parts[0]] = parts[1]
        }
    }

    init(query target: String) {
        let parts = target.split(separator: "?", maxSplits: 1)
        self.init(parts.count == 2 ? String(parts[1]) : "")
    }

    subscript(name: String) -> String? { values[name] }
}

extension SignInCandidate {
    /// The name to show, if there is one.
    var displayName: String? {
        let name = [givenName, familyName].compactMap(\.self).joined(separator: " ")
        return name.isEmpty ? emailAddress : name
    }
}

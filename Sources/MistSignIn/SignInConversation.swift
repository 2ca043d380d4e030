import MistKit
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The requests and responses between a browser and a program that waits for a token. This type does not use sockets.
struct SignInConversation: Sendable {
    enum Outcome: Sendable {
        case token(Secret)
        case refused(String)
    }

    struct Request: Sendable {
        var method: String
        /// Path and query.
        var target: String
        var host: String?
        var origin: String?
        var cookie: String?
        var body: String = ""
    }

    struct Response: Sendable {
        var status: Int
        var fields: [(name: String, value: String)] = []
        var body = ""
    }

    let signInURL: String
    let callback: SignInCallbackAddress
    /// The random text that the browser has to bring back.
    let state: String

    static func newState() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    private var origin: String { "http://\(callback.host):\(callback.port)" }

    /// The address to open in the browser.
    var startURL: URL { URL(string: "\(origin)/\(state)") ?? .defaultOpenAPIServerURL }

    private var cookieName: String { "mistkit-sign-in-\(callback.port)" }

    /// Responds to a request, and returns the outcome if the request ends the sign-in.
    func respond(to request: Request) -> (Response, Outcome?) {
        // Another site can point a host name at this machine. Requests with such a name are refused.
        guard request.host?.lowercased() == "\(callback.host):\(callback.port)" else {
            return (Self.page(403, "Not here", "This address is for one program on this machine."), nil)
        }
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count == 2 ? String(parts[1]) : ""
        switch (request.method, String(parts[0])) {
        case ("GET", "/\(state)"):
            var response =
                callback.opensPopup
                ? Self.opener(signInURL, state: state)
                : Response(status: 302, fields: [("Location", signInURL)])
            // `Lax`: the browser also sends the cookie when another site redirects to this address.
            response.fields.append(("Set-Cookie", "\(cookieName)=\(state); Path=/; HttpOnly; SameSite=Lax"))
            return (response, nil)
        case ("POST", "/\(state)"):
            guard request.origin == nil || request.origin == origin else { return (foreign, nil) }
            return finish(with: request.body)
        case ("GET", callback.path):
            let cookies = (request.cookie ?? "").split(separator: ";").map { $0.filter { $0 != " " } }
            guard cookies.contains("\(cookieName)=\(state)") else { return (foreign, nil) }
            return finish(with: query)
        case ("GET", _):
            return (Self.page(404, "Nothing here", "The program that waits here has no such page."), nil)
        default:
            return (Response(status: 405), nil)
        }
    }

    private func finish(with items: String) -> (Response, Outcome?) {
        var token: String?
        var session: String?
        var errorMessage: String?
        for item in items.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[1].isEmpty else { continue }
            // A token has plus signs and no spaces, so a plus sign is not decoded to a space.
            let value = PercentEncoding.decode(parts[1])
            switch parts[0] {
            case "ckWebAuthToken": token = value
            case "ckSession": session = value
            case "errorMessage": errorMessage = value
            default: break
            }
        }
        // Both have the same value: CloudKit JS reads `ckSession`, Apple's page shows `ckWebAuthToken`.
        if let token = token ?? session {
            return (
                Self.page(200, "You are signed in", "You can close this window and go back."), .token(Secret(token))
            )
        }
        guard let errorMessage else {
            return (Self.page(400, "No token came", "The page that led here brought no token. Try again."), nil)
        }
        let reason = String(errorMessage.filter { !$0.isNewline }.prefix(200))
        return (Self.page(200, "You are not signed in", "You can close this window and go back."), .refused(reason))
    }

    private var foreign: Response {
        Self.page(403, "Not from here", "This did not come from the page that the program opened. It was ignored.")
    }

    // MARK: - Pages

    /// The page with the button, because browsers open a second window only after a click.
    private static func opener(_ signInURL: String, state: String) -> Response {
        page(
            200,
            "Sign in",
            """
            A program on this machine asks you to sign in. A second window will open.</p>
            <p><button id="go">Continue</button>
            <script>
            const address = "\(scripted(signInURL))";
            let page = null;
            go.onclick = () => { page = window.open(address, "sign-in", "popup,width=525,height=640"); };
            window.addEventListener("message", async (event) => {
                if (!page || event.source !== page || typeof event.data !== "object" || !event.data) return;
                const outcome = new URLSearchParams();
                for (const name of ["ckWebAuthToken", "ckSession", "errorMessage"])
                    if (typeof event.data[name] === "string") outcome.append(name, event.data[name]);
                if (!outcome.size) return;
                const answer = await fetch("/\(state)", { method: "POST", body: outcome });
                document.open(); document.write(await answer.text()); document.close();
                page.close();
            });
            </script>
            """,
            // The emulator's page posts the token only to the origin that opened it.
            referrerPolicy: "origin"
        )
    }

    /// A page with a title and a text. Both are markup, so they must not contain text from a request.
    ///
    /// The address of a page can contain the token, so other sites do not learn it.
    private static func page(
        _ status: Int,
        _ title: String,
        _ text: String,
        referrerPolicy: String = "no-referrer"
    ) -> Response {
        let html = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark"><title>\(title)</title><style>
            body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 16px/1.5 system-ui, sans-serif; }
            main { max-width: 26rem; padding: 2rem; text-align: center; } h1 { font-size: 1.5rem; }
            button { font: inherit; font-weight: 600; padding: .6rem 2rem; border: 0; border-radius: .6rem; background: #0066cc;
                color: #fff; cursor: pointer; }
            </style></head><body><main><h1>\(title)</h1><p>\(text)</p></main></body></html>
            """
        return Response(
            status: status,
            fields: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Cache-Control", "no-store"),
                ("Referrer-Policy", referrerPolicy),
                ("X-Content-Type-Options", "nosniff"),
                ("X-Frame-Options", "DENY"),
            ],
            body: html
        )
    }

    /// Escapes a text for a string literal of a script.
    private static func scripted(_ text: String) -> String {
        var scripted = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\", "\"", "<", ">", "&", "'", "\u{0}"..."\u{1F}", "\u{7F}"...:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    scripted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: scripted.unicodeScalars.append(scalar)
            }
        }
        return scripted
    }
}

import CloudKitEmulator
import StreamingJSON

/// The pages of signing in. Each is complete: it loads no other file, font or picture.
enum SignInHTML {
    /// The users that the page shows.
    enum People {
        case list([SignInCandidate])
        /// None, as the person has to give the sign-in code first.
        case hidden(isCodeWrong: Bool)
    }

    /// The list of users or a form for the sign-in code, and a form to create a user.
    ///
    /// - Parameters:
    ///   - people: The users.
    ///   - container: The container that the person will use.
    ///   - fields: The names and values of what each form sends besides.
    /// - Returns: The page.
    static func choice(of people: People, container: String, fields: [(name: String, value: String)]) -> String {
        let hidden = fields.map { field in
            "<input type=\"hidden\" name=\"\(escaped(field.name))\" value=\"\(escaped(field.value))\">"
        }.joined(separator: "\n")
        let form = "<form method=\"post\" action=\"\(SignInPage.path)\">\n\(hidden)"
        let (codeForm, list, isEmpty) =
            switch people {
            case .list(let people) where people.isEmpty: ("", "<p class=\"quiet\">There are no people yet.</p>", true)
            case .list(let people): ("", "<ul>\(people.map(entry).joined())</ul>", false)
            case .hidden(let isCodeWrong): (codeForm(form, isWrong: isCodeWrong), "", true)
            }
        return page(
            title: "Sign in",
            """
            <h1>Sign in</h1>
            <p>to use <b>\(escaped(container))</b> on this emulator</p>
            \(codeForm)\(form)
            <button class="first" name="user" value="new" tabindex="-1" aria-hidden="true"></button>
            \(list)
            <details\(isEmpty ? " open" : "")><summary>New person</summary>
            <div class="pair"><label>Given name<input name="given_name" autocomplete="off"></label>
            <label>Family name<input name="family_name" autocomplete="off"></label></div>
            <label>E-mail address<input name="email_address" type="email" autocomplete="off"></label>
            <button class="main" name="user" value="new">Create and sign in</button></details>
            <label class="keep"><input type="checkbox" name="keep_signed_in" value="1"> Keep me signed in for two weeks</label>
            <button class="plain" name="user" value="cancel" formnovalidate>Cancel</button>
            </form>
            """
        )
    }

    private static func entry(of person: SignInCandidate) -> String {
        """
        <li><button name="user" value="\(escaped(person.userRecordName))">
        <span class="face" aria-hidden="true">\(escaped(initials(of: person)))</span>
        <span class="who"><b>\(escaped(person.displayName ?? "Without a name"))</b>
        <small>\(escaped(detail(of: person)))</small></span></button></li>
        """
    }

    private static func codeForm(_ form: String, isWrong: Bool) -> String {
        """
        \(form)
        <label>Sign-in code, which the emulator printed at its start
        <input name="sign_in_code" autocomplete="off" autocapitalize="none" spellcheck="false" autofocus required></label>
        \(isWrong ? "<p class=\"wrong\" role=\"alert\">This is not the code of the running emulator.</p>" : "")
        <button class="main" name="user" value="list">Show the people</button></form>
        """
    }

    /// The last page in a window that another window opened. It posts the result to that window, and closes its own.
    ///
    /// When no window opened it, or it is not known which page opened it, the page shows the token, so that the person
    /// can copy it.
    ///
    /// - Parameters:
    ///   - items: The result.
    ///   - audience: The origin to which the result may go. The browser delivers it to no other page. `null`, which a
    ///     developer has to allow, has no page of its own.
    ///   - name: The name of the person who is signed in.
    /// - Returns: The page.
    static func message(_ items: [(name: String, value: String)], to audience: String?, name: String?) -> String {
        let token = items.first { $0.name == "ckWebAuthToken" }?.value
        let title = name.map { "Signed in as \($0)" } ?? "No one signed in"
        return page(
            title: title,
            """
            <h1>\(escaped(title))</h1>
            <p id="told">You can close this window.</p>
            <div id="alone" hidden><p>No page that may have the token waits for it, so nothing was handed over.\
            \(token == nil ? "" : " Here is the web authentication token:")</p>
            \(token.map { "<textarea readonly rows=\"6\" aria-label=\"Token\">\(escaped($0))</textarea>" } ?? "")</div>
            <script>
            const outcome = \(script(.object(Dictionary(items.map { ($0.name, .string($0.value)) }) { $1 })));
            const audience = \(script(audience.map { .string($0 == "null" ? "*" : $0) } ?? .null));
            if (window.opener && audience) { window.opener.postMessage(outcome, audience); window.close(); }
            else { told.hidden = true; alone.hidden = false; }
            </script>
            """
        )
    }

    /// A page with a title and one paragraph.
    static func notice(_ title: String, _ text: String) -> String {
        page(title: title, "<h1>\(escaped(title))</h1><p>\(escaped(text))</p>")
    }

    // MARK: -

    private static func page(title: String, _ content: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark"><title>\(escaped(title))</title>
        <style>\(style)</style></head>
        <body><main>\(content)</main><footer>MistKit's emulator of CloudKit. No Apple Account is used here.</footer></body></html>
        """
    }

    private static let style = """
        :root { --ink: #1d1d1f; --quiet: #6e6e73; --line: #d2d2d7; --paper: #fff; --ground: #f5f5f7; --blue: #0066cc; }
        @media (prefers-color-scheme: dark) {
            :root { --ink: #f5f5f7; --quiet: #98989d; --line: #424245; --paper: #1d1d1f; --ground: #000; --blue: #2997ff; } }
        * { box-sizing: border-box; }
        body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; align-items: center;
            background: var(--ground); color: var(--ink);
            font: 16px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        main { width: min(26rem, 100%); margin: auto; padding: 2rem; background: var(--paper); border-radius: 1rem;
            border: 1px solid var(--line); }
        footer { padding: 1rem; color: var(--quiet); font-size: .8rem; }
        h1 { margin: 0 0 .25rem; font-size: 1.5rem; }
        p { margin: 0 0 1.25rem; overflow-wrap: anywhere; }
        .quiet, small { color: var(--quiet); }
        ul { list-style: none; margin: 0 0 1rem; padding: 0; max-height: 22rem; overflow: auto;
            border: 1px solid var(--line); border-radius: .75rem; }
        li + li { border-top: 1px solid var(--line); }
        button { font: inherit; color: inherit; cursor: pointer; border: 0; background: none; }
        li button { display: flex; gap: .75rem; align-items: center; width: 100%; padding: .7rem .9rem; text-align: left; }
        li button:hover { background: var(--ground); }
        button:focus-visible, input:focus-visible, summary:focus-visible { outline: 3px solid var(--blue); outline-offset: -2px; }
        .face { flex: none; width: 2.4rem; height: 2.4rem; border-radius: 50%; display: grid; place-items: center;
            background: var(--blue); color: #fff; font-weight: 600; font-size: .9rem; }
        .who { display: block; min-width: 0; } .who b, .who small { display: block; overflow: hidden; text-overflow: ellipsis; }
        details { margin: 0 0 1rem; } summary { cursor: pointer; color: var(--blue); padding: .25rem 0; }
        label { display: block; font-size: .85rem; color: var(--quiet); margin-top: .6rem; }
        .pair { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }
        input:not([type=checkbox]), textarea { display: block; width: 100%; margin-top: .2rem; padding: .5rem .6rem; font: inherit;
            color: var(--ink); background: var(--ground); border: 1px solid var(--line); border-radius: .5rem; }
        textarea { font-family: ui-monospace, monospace; font-size: .8rem; }
        .wrong { margin: .6rem 0 0; color: #d70015; } form + form { margin-top: 1.5rem; }
        .keep { color: var(--ink); font-size: .95rem; margin: 0 0 1rem; }
        .main { width: 100%; margin-top: 1rem; padding: .6rem; border-radius: .6rem; background: var(--blue); color: #fff; font-weight: 600; }
        .plain { display: block; margin: 0 auto; padding: .3rem 1rem; color: var(--blue); }
        .first { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
        """

    private static func initials(of person: SignInCandidate) -> String {
        let letters = [person.givenName, person.familyName].compactMap { $0?.first }
        return letters.isEmpty ? "?" : String(letters).uppercased()
    }

    private static func detail(of person: SignInCandidate) -> String {
        guard let address = person.emailAddress, person.displayName != address else { return person.userRecordName }
        return address
    }

    /// Text, escaped for use between tags and in attributes in quotation marks.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    /// A value for a script, as JSON that cannot end the surrounding script element.
    private static func script(_ value: JSONValue) -> String {
        let bytes = (try? JSONWriter.bytes(of: value, options: [.sortedKeys])) ?? Array("null".utf8)
        return String(decoding: bytes, as: UTF8.self)
            .replacing("<", with: "\\u003C").replacing("\u{2028}", with: "\\u2028").replacing(
                "\u{2029}",
                with: "\\u2029"
            )
    }
}

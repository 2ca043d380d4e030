/// The names of months and time zones in the dates of feeds and web pages.
enum CalendarNames {
    /// The month, from 1 to 12, whose name or abbreviation a word in lower case is.
    static func month(_ word: Substring) -> Int? {
        let word = word.hasSuffix(".") ? word.dropLast() : word
        guard word.count >= 3 || word == "μά", word.allSatisfy(\.isLetter) else { return nil }
        if let month = months[String(word)] { return month }
        // Longer English forms begin with the same three letters: Sept, January.
        return english.firstIndex { word.hasPrefix($0) && (word.count <= 4 || isLongName(word)) }.map { $0 + 1 }
    }

    /// The offset of a named zone from UTC in seconds. One-letter zones of RFC 822 mean UTC, as RFC 2822 requires.
    static func zone(_ word: Substring) -> Int? {
        if word.count == 1, word.first?.isLetter == true { return 0 }
        let name = word.hasPrefix("etc/") ? word.dropFirst(4) : word
        return zones[String(name)].map { Int($0 * 3600) }
    }

    private static let english = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    private static func isLongName(_ word: Substring) -> Bool {
        longNames.contains { $0.hasPrefix(word) }
    }

    private static let longNames = [
        "january", "february", "march", "april", "june", "july", "august", "september", "october", "november",
        "december",
    ]

    // Names that do not begin with the three letters of the English name.
    private static let months: [String: Int] = [
        // German, Dutch
        "januar": 1, "jänner": 1, "januari": 1, "februar": 2, "februari": 2, "märz": 3, "mrz": 3, "mär": 3, "maart": 3,
        "mrt": 3,
        "mai": 5, "mei": 5, "juni": 6, "juli": 7, "augustus": 8, "okt": 10, "oktober": 10, "dez": 12, "dezember": 12,
        // French
        "janvier": 1, "janv": 1, "février": 2, "févr": 2, "fév": 2, "mars": 3, "avril": 4, "avr": 4, "juin": 6,
        "juillet": 7,
        "juil": 7, "août": 8, "aoû": 8, "septembre": 9, "octobre": 10, "novembre": 11, "décembre": 12, "déc": 12,
        // Spanish, Italian, Portuguese
        "enero": 1, "ene": 1, "gennaio": 1, "gen": 1, "janeiro": 1, "febrero": 2, "febbraio": 2, "fevereiro": 2,
        "fev": 2,
        "marzo": 3, "março": 3, "abril": 4, "abr": 4, "aprile": 4, "mayo": 5, "maggio": 5, "mag": 5, "maio": 5,
        "junio": 6,
        "giugno": 6, "giu": 6, "junho": 6, "julio": 7, "luglio": 7, "lug": 7, "julho": 7, "agosto": 8, "ago": 8,
        "septiembre": 9, "settembre": 9, "set": 9, "setembro": 9, "octubre": 10, "ottobre": 10, "ott": 10,
        "outubro": 10,
        "out": 10, "noviembre": 11, "novembro": 11, "diciembre": 12, "dic": 12, "dicembre": 12, "dezembro": 12,
        // Hungarian
        "január": 1, "február": 2, "febru": 2, "március": 3, "máj": 5, "május": 5, "április": 4, "ápr": 4, "június": 6,
        "július": 7, "augusztus": 8, "szeptember": 9, "október": 10, "november": 11, "december": 12,
        // Greek
        "ιαν": 1, "φεβ": 2, "μάώ": 3, "μαώ": 3, "μάρ": 3, "μαρ": 3, "απρ": 4, "μάι": 5, "μαϊ": 5, "μαι": 5, "ιούν": 6,
        "ιον": 6,
        "ιουν": 6, "ιούλ": 7, "ιολ": 7, "ιουλ": 7, "αύγ": 8, "αυγ": 8, "σεπ": 9, "οκτ": 10, "νοέ": 11, "νοε": 11,
        "δεκ": 12,
    ]

    // In hours.
    private static let zones: [String: Double] = [
        "gmt": 0, "ut": 0, "utc": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "met": 1, "mez": 1, "cest": 2, "mest": 2,
        "mesz": 2, "eet": 2, "eest": 3, "msk": 3, "ist": 5.5, "sgt": 8, "hkt": 8, "awst": 8, "jst": 9, "kst": 9,
        "acst": 9.5,
        "aest": 10, "acdt": 10.5, "aedt": 11, "nzst": 12, "nzdt": 13, "brt": -3, "art": -3, "nst": -3.5, "ndt": -2.5,
        "adt": -3, "ast": -4, "edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8,
        "akdt": -8, "akst": -9, "hst": -10,
    ]
}

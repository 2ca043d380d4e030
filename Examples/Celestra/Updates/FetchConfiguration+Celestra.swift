import WebFetching

extension FetchConfiguration {
    /// The configuration with which Celestra fetches feeds.
    public static var celestra: FetchConfiguration {
        var configuration = FetchConfiguration(product: "celestra")
        configuration.acceptedTypes =
            "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, application/xml;q=0.9, "
            + "text/xml;q=0.9, application/json;q=0.8, */*;q=0.5"
        return configuration
    }
}

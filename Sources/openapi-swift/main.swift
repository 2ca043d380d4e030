import ArgumentParser

OpenAPISwiftCommand.main()

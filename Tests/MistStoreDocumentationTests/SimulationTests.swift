import MistTesting
import Testing

struct SimulationTests {
    @Test(arguments: UInt64(1)...20)
    func todosConverge(seed: UInt64) throws {
        try SyncSimulation(records: [TodoList.self, Todo.self]).run(seed: seed)
    }
}

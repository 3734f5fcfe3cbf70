import Testing

@testable import LedgerEngine

@Suite struct SoleUseTests {
    @Test func oneAfterTheOtherMayUseIt() async {
        await #expect(processExitsWith: .success) {
            let use = SoleUse()
            for _ in 0..<3 { use.during {} }
        }
    }

    @Test func twoAtATimeEndTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let use = SoleUse()
            use.during { use.during {} }
        }
    }

    @Test func whereTheyWaitTwoUseItOneAfterTheOther() async {
        await #expect(processExitsWith: .success) {
            let use = SoleUse(waits: true)
            let threads = try ["one", "other"].map { name in
                try EngineThread(name) { for _ in 0..<1_000 { use.during {} } }
            }
            for thread in threads { thread.join() }
        }
    }
}

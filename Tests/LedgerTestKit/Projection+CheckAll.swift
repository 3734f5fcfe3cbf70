package import Ledger

extension Projection {
    /// What a check of all tables finds, from where it is to its end.
    package func checkAll() -> [StoreError] {
        var found: [StoreError] = []
        while true {
            do {
                if try !checkNext() { return found }
            } catch let error as StoreError {
                found.append(error)
                if error.kind != .corrupt { return found }
            } catch {
                found.append(StoreError("\(error)"))
                return found
            }
        }
    }
}

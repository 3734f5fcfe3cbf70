import AppStore
import Testing

@testable import AppStoreSimulator

/// `.storekit` files as Xcode writes them.
@Suite struct StoreKitFileTests {
    static let example = """
        {
          "identifier" : "E36A6C53",
          "nonRenewingSubscriptions" : [
            {
              "displayPrice" : "9.99", "familyShareable" : false, "internalID" : "1", "localizations" : [ ],
              "productID" : "com.example.game.season", "referenceName" : "Season", "type" : "NonRenewingSubscription"
            }
          ],
          "products" : [
            {
              "displayPrice" : "4.99", "familyShareable" : false, "internalID" : "9B90D777",
              "localizations" : [ { "description" : "", "displayName" : "500 Gems", "locale" : "en_US" } ],
              "productID" : "com.example.game.gems500", "referenceName" : "500 Gems", "type" : "Consumable"
            },
            {
              "displayPrice" : "18", "familyShareable" : true, "internalID" : "2", "localizations" : [ ],
              "productID" : "com.example.game.sword", "referenceName" : "Sword", "type" : "NonConsumable"
            }
          ],
          "settings" : { "_failTransactionsEnabled" : false, "_locale" : "de_DE", "_storefront" : "DEU" },
          "subscriptionGroups" : [
            {
              "id" : "3F96AC84", "localizations" : [ ], "name" : "premium",
              "subscriptions" : [
                {
                  "adHocOffers" : [ ], "displayPrice" : "0.99", "groupNumber" : 1, "internalID" : "D7BBA925",
                  "introductoryOffer" : null, "localizations" : [ ], "productID" : "com.example.game.pass",
                  "recurringSubscriptionPeriod" : "P1W", "referenceName" : "Pass",
                  "subscriptionGroupID" : "3F96AC84", "type" : "RecurringSubscription"
                }
              ]
            }
          ],
          "version" : { "major" : 4, "minor" : 0 }
        }
        """

    @Test func everyKindOfProductIsRead() throws {
        let file = try StoreKitFile(Array(Self.example.utf8))
        #expect(file.storefront == "DEU")
        let products = Dictionary(uniqueKeysWithValues: file.products.map { ($0.productID, $0) })
        #expect(products.count == 4)
        let gems = try #require(products["com.example.game.gems500"])
        #expect(gems.referenceName == "500 Gems" && gems.type == .consumable && gems.price == 4_990)
        #expect(products["com.example.game.sword"]?.price == 18_000)
        #expect(products["com.example.game.season"]?.type == .nonRenewingSubscription)
        let pass = try #require(products["com.example.game.pass"])
        #expect(pass.type == .autoRenewableSubscription && pass.periodMilliseconds == 7 * 86_400_000)
        #expect(pass.subscriptionGroup == "3F96AC84" && gems.periodMilliseconds == nil)
    }

    @Test(arguments: [
        ("{}", "products is missing"), ("[]", "must be an object"), (#"{"products":[{}]}"#, "productID is missing"),
        (
            #"{"products":[{"productID":"a","type":"Gem","displayPrice":"1"}]}"#,
            "products[0].type must be one of Consumable, NonConsumable, NonRenewingSubscription, RecurringSubscription"
        ),
        (#"{"products":[{"productID":"a","type":"Consumable"}]}"#, "displayPrice is missing"),
        (#"{"products":[{"productID":"a","type":"Consumable","displayPrice":"1,99"}]}"#, "must be a price as 0.99"),
        (
            #"{"products":[{"productID":"a","type":"Consumable","displayPrice":"1"},"#
                + #"{"productID":"a","type":"Consumable","displayPrice":"2"}]}"#, "has the product a twice"
        ),
        (
            #"{"subscriptionGroups":[{"subscriptions":[{"productID":"a","type":"RecurringSubscription","#
                + #""displayPrice":"1","recurringSubscriptionPeriod":"1M"}]}]}"#, "must be a duration of ISO 8601"
        ),
    ])
    func whatIsWrongInAFileIsNamed(json: String, why: String) {
        do throws(SimulatorError) {
            _ = try StoreKitFile(Array(json.utf8))
            Issue.record("it was read")
        } catch {
            #expect(error.description.contains(why), "\(error)")
        }
    }

    @Test func pricesAndSharesAreDecimals() {
        let prices: [(String, Int64?)] = [
            ("0.99", 990), ("1", 1_000), ("0.005", 5), ("12.5", 12_500), ("0", 0), ("", nil), (".5", nil), ("1.", nil),
            ("1.2345", nil), ("-1", nil), ("1e3", nil), ("1.-2", nil), ("99999999999999", nil),
        ]
        for (text, value) in prices { #expect(Decimals.thousandths(text) == value, "\(text)") }
        let shares: [(String, Int64?)] = [
            ("20%", 20_000), ("0.5%", 500), ("100", 100_000), ("100.001%", nil), ("x%", nil), ("", nil),
        ]
        for (text, value) in shares { #expect(Share(text)?.thousandths == value, "\(text)") }
    }
}

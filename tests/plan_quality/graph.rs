//! A small graph with what makes joins hard to foresee, after the manner of `WatDiv`: a few users and products that most
//! edges lead to, properties that only some kinds of things have, and values that go together.

use super::random::Random;
use std::fmt::Write;

const USERS: usize = 1_500;
const PRODUCTS: usize = 800;
const REVIEWS: usize = 2_500;
const OFFERS: usize = 1_500;
const RETAILERS: usize = 40;
const KINDS: usize = 6;

/// Users, products, reviews and offers, as N-Triples.
pub fn shop(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::new();
    let mut add = |subject: &str, predicate: &str, object: &str| {
        writeln!(text, "<s:{subject}> <s:{predicate}> <s:{object}> .").unwrap();
    };
    for user in 0..USERS {
        let name = format!("user{user}");
        add(&name, "type", "User");
        for _ in 0..random.skewed(40) {
            add(&name, "follows", &format!("user{}", random.skewed(USERS)));
        }
        for _ in 0..random.below(4) {
            add(&name, "friend", &format!("user{}", random.below(USERS)));
        }
        // Who likes much likes what everybody likes.
        for _ in 0..random.skewed(30) {
            add(
                &name,
                "likes",
                &format!("product{}", random.skewed(PRODUCTS)),
            );
        }
        if user % 3 == 0 {
            add(&name, "age", &format!("age{}", random.below(9)));
            add(&name, "gender", &format!("gender{}", random.below(2)));
        }
        if user % 5 == 0 {
            add(&name, "country", &format!("country{}", random.skewed(25)));
        }
    }
    for product in 0..PRODUCTS {
        let name = format!("product{product}");
        // The first products, which are liked most, are of the first kinds.
        let kind = (product * KINDS / PRODUCTS + random.skewed(2)).min(KINDS - 1);
        add(&name, "type", &format!("Kind{kind}"));
        for _ in 0..=random.below(3) {
            // A kind has genres of its own.
            let genre = kind * 5 + random.skewed(5);
            add(&name, "genre", &format!("genre{genre}"));
        }
        match kind {
            0 | 1 => {
                add(&name, "director", &format!("person{}", random.skewed(60)));
                for _ in 0..random.below(5) {
                    add(&name, "actor", &format!("person{}", random.skewed(200)));
                }
            }
            2 => add(&name, "author", &format!("person{}", random.below(200))),
            _ => {}
        }
        if product % 2 == 0 {
            add(&name, "caption", &format!("text{product}"));
        }
    }
    for review in 0..REVIEWS {
        let name = format!("review{review}");
        add(&name, "type", "Review");
        add(&name, "reviewer", &format!("user{}", random.skewed(USERS)));
        add(
            &name,
            "about",
            &format!("product{}", random.skewed(PRODUCTS)),
        );
        add(&name, "rating", &format!("rating{}", random.below(10)));
        if review % 4 == 0 {
            add(&name, "title", &format!("title{review}"));
        }
    }
    for offer in 0..OFFERS {
        let name = format!("offer{offer}");
        add(
            &name,
            "offers",
            &format!("product{}", random.skewed(PRODUCTS)),
        );
        add(
            &name,
            "seller",
            &format!("retailer{}", random.skewed(RETAILERS)),
        );
        add(&name, "price", &format!("price{}", random.below(400)));
        if offer % 6 == 0 {
            add(&name, "eligible", &format!("country{}", random.skewed(25)));
        }
    }
    for retailer in 0..RETAILERS {
        let name = format!("retailer{retailer}");
        add(&name, "type", "Retailer");
        add(&name, "homepage", &format!("page{retailer}"));
        add(&name, "employee", &format!("user{}", random.below(USERS)));
    }
    text
}

//! What drivers in Rust print, and the steps after the sign-in.
use anyhow::Result;
use serde_json::{json, Value};
use std::env::var;

pub fn ask_person(url: &str) -> Result<String> {
    println!("{}", json!({ "at": "authorize", "url": url }));
    let mut back = String::new();
    std::io::stdin().read_line(&mut back)?;
    Ok(back.trim().to_string())
}

fn say(at: &str, said: &Value) {
    println!("{}", json!({ "at": at, "said": said }));
}

/// The reference in an answer that says that the tool has not run.
fn reference(said: &Value) -> Option<String> {
    let text = said.to_string();
    let found = text.find("req_").filter(|_| text.contains("has not run"));
    found.map(|at| text[at..at + 36].to_string())
}

/// Prints what `call` answers for each step.
pub async fn take_steps(names: Vec<String>, call: impl AsyncFn(&'static str, Value) -> Result<Value>) -> Result<()> {
    let write = async |path: String| call("files__write_file", json!({ "path": path, "content": path })).await;
    say("tools", &json!(names));
    say("allowed", &call("files__read_text_file", json!({ "path": var("HOST_READ")? })).await?);
    say("in-time", &write(var("HOST_WRITE_IN_TIME")?).await?);
    let mut said = write(var("HOST_WRITE_LATE")?).await?;
    say("late", &said);
    while let Some(found) = reference(&said) {
        said = call("get_request_status", json!({ "reference": found })).await?;
    }
    say("ended", &said);
    Ok(())
}

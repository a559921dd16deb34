//! Drives the Rust SDK of MCP.
mod common;

use anyhow::{Context, Result};
use common::{ask_person, take_steps};
use rmcp::model::{CallToolRequestParams, InitializeRequestParams};
use rmcp::transport::auth::{AuthClient, AuthorizationRequest, OAuthState};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{service::RunningService, RoleClient, ServiceExt};
use std::env::var;

async fn connected() -> Result<RunningService<RoleClient, InitializeRequestParams>> {
    let url = var("HOST_URL")?;
    let config = StreamableHttpClientTransportConfig::with_uri(url.clone());
    let me = InitializeRequestParams::default();
    if let Ok(token) = var("HOST_TOKEN") {
        return Ok(me.serve(StreamableHttpClientTransport::from_config(config.auth_header(token))).await?);
    }
    let mut sign_in = OAuthState::new(&url, None).await?;
    let mut asks = AuthorizationRequest::new(var("HOST_REDIRECT")?).with_client_name("A client");
    if let Ok(document) = var("HOST_DOCUMENT") {
        asks = asks.with_client_metadata_url(document);
    }
    sign_in.start_authorization(asks).await?;
    let back = ask_person(&sign_in.get_authorization_url().await?)?;
    sign_in.handle_callback_url(&back).await?;
    let manager = sign_in.into_authorization_manager().context("not signed in")?;
    let http = AuthClient::new(reqwest::Client::default(), manager);
    Ok(me.serve(StreamableHttpClientTransport::with_client(http, config)).await?)
}

#[tokio::main]
async fn main() -> Result<()> {
    let client = connected().await?;
    let names = client.list_all_tools().await?.iter().map(|tool| tool.name.to_string()).collect();
    take_steps(names, async |name, arguments| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let answer = client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await?;
        Ok(serde_json::to_value(answer)?)
    })
    .await?;
    client.cancel().await?;
    Ok(())
}

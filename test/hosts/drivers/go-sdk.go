package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// withToken sends a pasted token.
type withToken string

func (token withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(request)
}

func askPerson(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	print(object{"at": "authorize", "url": args.URL})
	line, _, err := bufio.NewReader(os.Stdin).ReadLine()
	answer := must(url.Parse(string(line))).Query()
	return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, err
}

func signIn() auth.OAuthHandler {
	redirect := env("HOST_REDIRECT")
	config := &auth.AuthorizationCodeHandlerConfig{RedirectURL: redirect, AuthorizationCodeFetcher: askPerson}
	if document := env("HOST_DOCUMENT"); document != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: document}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "A client", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none"}}
	}
	return must(auth.NewAuthorizationCodeHandler(config))
}

func main() {
	ctx, transport := context.Background(), &mcp.StreamableClientTransport{Endpoint: env("HOST_URL")}
	if token := env("HOST_TOKEN"); token != "" {
		transport.HTTPClient = &http.Client{Transport: withToken(token)}
	} else {
		transport.OAuthHandler = signIn()
	}
	options := &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {}}
	session := must(mcp.NewClient(&mcp.Implementation{Name: "host-go", Version: "0"}, options).Connect(ctx, transport, nil))
	takeSteps(must(session.ListTools(ctx, nil)).Tools, func(name string, arguments object) string {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		params.SetProgressToken(name)
		return string(must(json.Marshal(must(session.CallTool(ctx, params)))))
	})
	session.Close()
}

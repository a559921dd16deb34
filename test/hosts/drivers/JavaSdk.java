// Drives the Java SDK of MCP.
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

public class JavaSdk {
	private static final Pattern REFERENCE = Pattern.compile("req_[0-9a-f]{32}");

	static void say(String at, Object said) throws Exception {
		System.out.println(McpJsonDefaults.getMapper().writeValueAsString(new java.util.TreeMap<>(Map.of("at", at, "said", said))));
	}

	static Object call(McpSyncClient client, String name, Map<String, Object> arguments) {
		// The SDK sends the token of progress only in `_meta`.
		return client.callTool(McpSchema.CallToolRequest.builder(name).arguments(arguments).meta(Map.of("progressToken", name)).build());
	}

	static Object write(McpSyncClient client, String path) {
		return call(client, "files__write_file", Map.of("path", path, "content", path));
	}

	static String referenceIn(Object said) {
		var text = String.valueOf(said);
		var found = REFERENCE.matcher(text);
		return text.contains("has not run") && found.find() ? found.group() : null;
	}

	public static void main(String[] args) throws Exception {
		var env = System.getenv();
		var url = env.get("HOST_URL");
		var transport = HttpClientStreamableHttpTransport.builder(url.replaceAll("/mcp$", "")).endpoint("/mcp")
			.httpRequestCustomizer((request, method, uri, body, context) ->
				request.header("Authorization", "Bearer " + env.get("HOST_TOKEN")))
			.build();
		try (var client = McpClient.sync(transport).progressConsumer(progress -> {}).build()) {
			client.initialize();
			say("tools", client.listTools().tools().stream().map(tool -> tool.name()).toList());
			say("allowed", call(client, "files__read_text_file", Map.of("path", env.get("HOST_READ"))));
			say("in-time", write(client, env.get("HOST_WRITE_IN_TIME")));
			var said = write(client, env.get("HOST_WRITE_LATE"));
			say("late", said);
			for (var found = referenceIn(said); found != null; found = referenceIn(said))
				said = call(client, "get_request_status", Map.of("reference", found));
			say("ended", said);
		}
		System.exit(0);
	}
}

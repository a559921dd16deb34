// What drivers in Go print, and the steps after the sign-in.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

type object = map[string]any

var env, reference = os.Getenv, regexp.MustCompile("req_[0-9a-f]{32}")

func print(line object) {
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func say(at string, said any) { print(object{"at": at, "said": said}) }

func must[T any](value T, err error) T {
	if err != nil {
		print(object{"at": "failed", "error": err.Error()})
		os.Exit(1)
	}
	return value
}

// takeSteps prints what `call` answers. Its answers are the text of the whole result.
func takeSteps(tools any, call func(name string, arguments object) string) {
	write := func(path string) string { return call("files__write_file", object{"path": path, "content": path}) }
	say("tools", tools)
	say("allowed", call("files__read_text_file", object{"path": env("HOST_READ")}))
	say("in-time", write(env("HOST_WRITE_IN_TIME")))
	said := write(env("HOST_WRITE_LATE"))
	say("late", said)
	for strings.Contains(said, "has not run") {
		said = call("get_request_status", object{"reference": reference.FindString(said)})
	}
	say("ended", said)
}

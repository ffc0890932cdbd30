// Renders the templates of a Helm chart with Go's own engine and the functions that deploy/chart uses,
// as Helm would: go run render_chart.go TEMPLATES_FOLDER < context.json > documents.yaml, where the
// context has the keys Values, Chart and Release. YAML is written as JSON, which it contains.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

func isEmpty(value any) bool {
	truth, ok := template.IsTrue(value)
	return !ok || !truth
}

func main() {
	var context map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&context); err != nil {
		fail(err)
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var text strings.Builder
			err := all.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"toYaml": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"nindent": func(spaces int, text string) string {
			pad := "\n" + strings.Repeat(" ", spaces)
			return pad + strings.ReplaceAll(text, "\n", pad)
		},
		"default": func(fallback, value any) any {
			if isEmpty(value) {
				return fallback
			}
			return value
		},
		"required": func(message string, value any) (any, error) {
			if isEmpty(value) {
				return nil, errors.New(message)
			}
			return value, nil
		},
		"quote": func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"trunc": func(length int, text string) string {
			if len(text) > length {
				return text[:length]
			}
			return text
		},
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
	})
	for _, pattern := range []string{"*.tpl", "*.yaml"} {
		if _, err := all.ParseGlob(filepath.Join(os.Args[1], pattern)); err != nil {
			fail(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(os.Args[1], "*.yaml"))
	for _, file := range files {
		fmt.Println("---")
		if err := all.ExecuteTemplate(os.Stdout, filepath.Base(file), context); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

package plan

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchemaPattern bounds each regular expression of a schema, in characters
// and in its size, see patternSize.
const maxSchemaPattern = 5000

// sizedPattern is a regular expression of a schema.
type sizedPattern struct {
	*regexp.Regexp
	size int
}

// patterns returns what compiles the regular expressions of one schema.
func patterns() jsonschema.RegexpEngine {
	known := map[string]sizedPattern{}
	left := maxPatterns
	return func(text string) (jsonschema.Regexp, error) {
		if re, ok := known[text]; ok {
			return re, nil
		}
		size, err := measure(text)
		if err != nil {
			return nil, err
		}
		if left -= size; left < 0 {
			return nil, fmt.Errorf("the regular expressions are too long altogether, more than %d steps", maxPatterns)
		}
		compiled, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		re := sizedPattern{compiled, size}
		known[text] = re
		return re, nil
	}
}

// measure returns the size of a regular expression that is short enough.
func measure(text string) (int, error) {
	tooLong := fmt.Errorf("the regular expression is too long, more than %d steps", maxSchemaPattern)
	if len(text) > maxSchemaPattern {
		return 0, tooLong
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	size := patternSize(parsed, maxSchemaPattern)
	if size > maxSchemaPattern {
		return 0, tooLong
	}
	return size, nil
}

// validPattern is the format regex of a value.
func validPattern(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	_, err := measure(text)
	return err
}

// sizeOf returns the size of an expression that [patterns] has compiled.
func sizeOf(re jsonschema.Regexp) int {
	sized, _ := re.(sizedPattern)
	return max(sized.size, 1)
}

package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// The functions index and get return the zero value for a key that a map does
// not have, and nothing tells it from a value. Where their result is used a
// rewritten template calls these instead, which return nil for such a key of
// the configuration.
const (
	strictIndex = "kalypsoIndex"
	strictGet   = "kalypsoGet"
)

var strictNames = map[string]string{"index": strictIndex, "get": strictGet}

// plainNames takes the names that rewriting has put there out of an error.
var plainNames = strings.NewReplacer(strictIndex, "index", strictGet, "get")

// anyResult are the functions that can return nil.
var anyResult = func() map[string]bool {
	m := map[string]bool{"index": true, "and": true, "or": true, "call": true}
	for name, function := range functions {
		if reflect.TypeOf(function).Out(0).Kind() == reflect.Interface {
			m[name] = true
		}
	}
	return m
}()

// get returns a key's value, nil when it is not there.
func get(dict map[string]any, key string) any {
	return dict[key]
}

// index returns what the keys lead to, one after the other, and nil as soon as
// one of them is not there.
func index(item any, keys ...any) (any, error) {
	if item == nil {
		return nil, errors.New("index of nothing")
	}
	for _, key := range keys {
		v, k := reflect.ValueOf(item), reflect.ValueOf(key)
		element := reflect.Value{}
		switch v.Kind() {
		case reflect.Map:
			if k.Kind() != reflect.String {
				return nil, fmt.Errorf("a map is indexed by a text, not by %T", key)
			}
			element = v.MapIndex(k.Convert(v.Type().Key()))
			if !element.IsValid() && v.Type().Elem().Kind() == reflect.String {
				return "", nil // of labels and manifests, which are open to any key
			}
			if !element.IsValid() {
				return nil, nil
			}
		case reflect.Slice, reflect.Array, reflect.String:
			if !k.CanInt() && !k.CanUint() {
				return nil, fmt.Errorf("a list is indexed by a number, not by %T", key)
			}
			n := k.Convert(reflect.TypeFor[int]()).Interface().(int)
			if n < 0 || n >= v.Len() {
				return nil, fmt.Errorf("index out of range: %v", key)
			}
			element = v.Index(n)
		case reflect.Invalid:
			return nil, nil
		default:
			return nil, fmt.Errorf("%T cannot be indexed", item)
		}
		item = element.Interface()
	}
	return item, nil
}

package plan

import "reflect"

// gauge measures a value. It stops beyond its limit, and so with a value that
// holds itself.
type gauge struct{ size, limit int }

func (g *gauge) add(v reflect.Value) {
	g.size += nodeSize
	if g.size > g.limit || !v.IsValid() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		g.size += v.Len()
	case reflect.Interface:
		g.add(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && g.size <= g.limit; i++ {
			g.add(v.Index(i))
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next() && g.size <= g.limit; {
			g.add(entries.Key())
			g.add(entries.Value())
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			g.add(v.Field(i))
		}
	}
}

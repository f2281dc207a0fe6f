package dsql

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/server/common/searchattribute"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// visibilityAttributes makes a run's search attributes of the JSON object that its row has: those that Temporal knows, with
// their types. Numbers stay as they were written.
//
// A payload holds a value's JSON, and so does the object. Where both write it the same way, which is nearly always, the
// bytes are copied; what is written otherwise is decoded and encoded by Temporal's own functions, at several times the
// cost. The payloads are the same by both ways.
func visibilityAttributes(object []byte, types searchattribute.NameTypeMap) (*commonpb.SearchAttributes, error) {
	if copied, ok := copiedAttributes(object, types); ok {
		return copied, nil
	}
	return decodedAttributes(object, types)
}

func decodedAttributes(object []byte, types searchattribute.NameTypeMap) (*commonpb.SearchAttributes, error) {
	var all map[string]any
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		return nil, serviceerror.NewInternalf("search attributes can't be read: %v", err)
	}
	for name, value := range all {
		kind, err := types.GetType(name)
		if err != nil {
			delete(all, name)
			continue
		}
		if one, ok := value.(string); ok && kind == enumspb.INDEXED_VALUE_TYPE_DATETIME {
			if at, err := time.Parse(time.RFC3339Nano, one); err == nil {
				all[name] = at
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return searchattribute.Encode(all, &types)
}

// copiedAttributes is false for an object with anything that is not plain.
func copiedAttributes(object []byte, types searchattribute.NameTypeMap) (*commonpb.SearchAttributes, bool) {
	in := plainJSON{left: object}
	if !utf8.Valid(object) || !in.take('{') {
		return nil, false
	}
	fields := map[string]*commonpb.Payload{}
	for first := true; !in.take('}'); first = false {
		if !first && !in.take(',') {
			return nil, false
		}
		quoted, ok := in.text()
		if !ok || !in.take(':') {
			return nil, false
		}
		name := string(quoted[1 : len(quoted)-1])
		kind, err := types.GetType(name)
		if err == nil && sadefs.IsSystem(name) {
			return nil, false
		}
		data, ok := in.value(kind)
		if !ok {
			return nil, false
		}
		if err == nil {
			field := &commonpb.Payload{Metadata: make(map[string][]byte, 2), Data: data}
			field.Metadata[converter.MetadataEncoding] = []byte(converter.MetadataEncodingJSON)
			sadefs.SetMetadataType(field, kind)
			fields[name] = field
		}
	}
	if len(in.left) > 0 {
		return nil, false
	}
	if len(fields) == 0 {
		return nil, true
	}
	return &commonpb.SearchAttributes{IndexedFields: fields}, true
}

// plainJSON reads JSON as PostgreSQL writes it.
type plainJSON struct{ left []byte }

func (in *plainJSON) skipBlanks() {
	for len(in.left) > 0 && in.left[0] == ' ' {
		in.left = in.left[1:]
	}
}

func (in *plainJSON) take(sign byte) bool {
	in.skipBlanks()
	if len(in.left) == 0 || in.left[0] != sign {
		return false
	}
	in.left = in.left[1:]
	return true
}

// text is a string with its quotation marks, and false if encoding/json would write it otherwise: that escapes the signs
// of HTML, and U+2028 and U+2029, which are e2 80 a8 and e2 80 a9.
func (in *plainJSON) text() ([]byte, bool) {
	in.skipBlanks()
	if len(in.left) == 0 || in.left[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(in.left); i++ {
		switch c := in.left[i]; {
		case c == '"':
			taken := in.left[:i+1]
			in.left = in.left[i+1:]
			return taken, true
		case c < ' ' || c == '\\' || c == '<' || c == '>' || c == '&':
			return nil, false
		case c == 0xe2 && i+2 < len(in.left) && in.left[i+1] == 0x80 && in.left[i+2]&^1 == 0xa8:
			return nil, false
		}
	}
	return nil, false
}

// word is a number, true or false.
func (in *plainJSON) word() ([]byte, bool) {
	in.skipBlanks()
	end := bytes.IndexAny(in.left, ",}")
	if end <= 0 {
		return nil, false
	}
	taken := bytes.TrimRight(in.left[:end], " ")
	isNumber := len(taken) > 0 && (taken[0] == '-' || (taken[0] >= '0' && taken[0] <= '9')) && json.Valid(taken)
	if !isNumber && string(taken) != "true" && string(taken) != "false" {
		return nil, false
	}
	in.left = in.left[end:]
	return taken, true
}

// list is one of texts. encoding/json puts no blank between them.
func (in *plainJSON) list() ([]byte, bool) {
	if !in.take('[') {
		return nil, false
	}
	out := []byte{'['}
	for !in.take(']') {
		if len(out) > 1 {
			if !in.take(',') {
				return nil, false
			}
			out = append(out, ',')
		}
		one, ok := in.text()
		if !ok {
			return nil, false
		}
		out = append(out, one...)
	}
	return append(out, ']'), true
}

// value is what a payload holds. It does not refer to what was read.
func (in *plainJSON) value(kind enumspb.IndexedValueType) ([]byte, bool) {
	in.skipBlanks()
	if len(in.left) == 0 {
		return nil, false
	}
	switch in.left[0] {
	case '[':
		return in.list()
	case '"':
		text, ok := in.text()
		if ok && kind == enumspb.INDEXED_VALUE_TYPE_DATETIME {
			return plainTime(text)
		}
		return bytes.Clone(text), ok
	default:
		word, ok := in.word()
		return bytes.Clone(word), ok
	}
}

// plainTime: as many digits behind the second as it needs.
func plainTime(text []byte) ([]byte, bool) {
	at, err := time.Parse(time.RFC3339Nano, string(text[1:len(text)-1]))
	if err != nil {
		return nil, false
	}
	out, err := at.MarshalJSON()
	return out, err == nil
}

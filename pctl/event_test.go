package pctl

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"ptools/pctl/notify"
)

// TestEventOf: no field of an event is lost on its way from control.
func TestEventOf(t *testing.T) {
	e := notify.Event{Time: time.Unix(1, 0), Err: errors.New("odd")}
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(int64(i))
		case reflect.Uint8, reflect.Uint64:
			f.SetUint(uint64(i))
		case reflect.String:
			f.SetString(fmt.Sprint(i))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Interface:
			if v.Type().Field(i).Name == "Attached" {
				f.Set(reflect.ValueOf("what a handler has seen"))
			}
		}
	}
	got := reflect.ValueOf(eventOf(e))
	if got.NumField() != v.NumField()+1 { // and Call
		t.Errorf("%d fields of %d", got.NumField(), v.NumField())
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if f := got.FieldByName(name); v.Field(i).IsZero() || fmt.Sprintf("%#v", f.Convert(v.Field(i).Type())) != fmt.Sprintf("%#v", v.Field(i)) {
			t.Errorf("%s: %#v of %#v", name, f, v.Field(i))
		}
	}
}

// TestEventString: each kind has words of its own, on one line. The lines themselves are pgrab's,
// and tested there.
func TestEventString(t *testing.T) {
	seen := map[string]Kind{}
	for k := KindGrabbed; k <= KindCall; k++ {
		e := Event{PID: 4242, Kind: k, Point: PointMain, Path: "a\nb", Symbol: "a\nb", Object: "a\nb", Mode: "running", Err: errors.New("a\nb"),
			Call: &Call{CalledFunction: &CalledFunction{Name: "a\nb"}}}
		s := e.String()
		if other, twice := seen[s]; twice || s == "pid 4242: "+k.String() && k != KindContinued {
			t.Errorf("%v: %q, as %v", k, s, other)
		}
		seen[s] = k
		for _, c := range s {
			if c < ' ' {
				t.Errorf("%v: %q", k, s)
			}
		}
	}
	if s := fmt.Sprint(Event{PID: 7, Kind: KindStopped, Point: PointMain}); s != "pid 7: stopped at main" {
		t.Error(s)
	}
}

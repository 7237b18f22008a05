package push

import (
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
)

// conventions are OpenTelemetry's names for our labels, of targets and of samples.
var conventions = map[string]string{
	"service_name": "service.name",
	"pid":          "process.pid",
	"ppid":         "process.parent_pid",
	"comm":         "process.executable.name",
	"exe":          "process.executable.path",
	"build_id":     buildID,
	"cgroup":       "process.linux.cgroup",
	"container_id": "container.id",
	"pod_uid":      "k8s.pod.uid",
	"user":         "process.owner",
	"host":         "host.name",
	"thread":       "thread.name",
	"tid":          "thread.id",
}

// numbers are the labels whose attribute is a number.
var numbers = map[string]bool{"pid": true, "ppid": true, "tid": true}

const buildID = "process.executable.build_id.gnu"

// export converts a profile to OTLP: one profile for each type of value, with one set of stacks.
func export(p *Profile) *collector.ExportProfilesServiceRequest {
	d := newDictionary()
	scope := &profiles.ScopeProfiles{Scope: &common.InstrumentationScope{Name: utf8Text(p.Name)}}
	stacks := make([]int32, len(p.Data.Sample))
	attributes := make([][]int32, len(p.Data.Sample))
	for i, s := range p.Data.Sample {
		stacks[i] = d.stack(s.Location)
		attributes[i] = d.labels(s)
	}
	for i, t := range p.Data.SampleType {
		out := &profiles.Profile{
			SampleType:   d.valueType(t),
			TimeUnixNano: uint64(p.Data.TimeNanos),
			DurationNano: uint64(p.Data.DurationNanos),
			PeriodType:   d.valueType(p.Data.PeriodType),
			Period:       p.Data.Period,
			ProfileId:    make([]byte, 16),
		}
		rand.Read(out.ProfileId) // never fails
		for j, s := range p.Data.Sample {
			if s.Value[i] != 0 {
				out.Samples = append(out.Samples, &profiles.Sample{
					StackIndex: stacks[j], AttributeIndices: attributes[j], Values: []int64{s.Value[i]},
				})
			}
		}
		if len(out.Samples) > 0 { // a profile without samples is invalid to some
			scope.Profiles = append(scope.Profiles, out)
		}
	}
	return &collector.ExportProfilesServiceRequest{
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource:      &resource.Resource{Attributes: resourceAttributes(p.Labels)},
			ScopeProfiles: []*profiles.ScopeProfiles{scope},
		}},
		Dictionary: d.out,
	}
}

func resourceAttributes(labels map[string]string) []*common.KeyValue {
	var list []*common.KeyValue
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if value := labels[name]; value != "" && name != "" {
			list = append(list, &common.KeyValue{Key: convention(name), Value: anyValue(name, value)})
		}
	}
	return list
}

func convention(name string) string {
	if c, ok := conventions[name]; ok {
		return c
	}
	return utf8Text(name)
}

func anyValue(name, value string) *common.AnyValue {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && numbers[name] {
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
	}
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: utf8Text(value)}}
}

// dictionary gives everything that samples refer to a place in one of its tables. The first entry of each table is
// empty and stands for nothing. No table has an entry twice.
type dictionary struct {
	out        *profiles.ProfilesDictionary
	strings    map[string]int32
	mappings   map[*profile.Mapping]int32
	functions  map[*profile.Function]int32
	locations  map[*profile.Location]int32
	stacks     map[string]int32
	attributes map[[2]string]int32
}

func newDictionary() *dictionary {
	return &dictionary{
		out: &profiles.ProfilesDictionary{
			MappingTable:   []*profiles.Mapping{{}},
			LocationTable:  []*profiles.Location{{}},
			FunctionTable:  []*profiles.Function{{}},
			LinkTable:      []*profiles.Link{{}},
			StringTable:    []string{""},
			AttributeTable: []*profiles.KeyValueAndUnit{{}},
			StackTable:     []*profiles.Stack{{}},
		},
		strings:    map[string]int32{"": 0},
		mappings:   map[*profile.Mapping]int32{nil: 0},
		functions:  map[*profile.Function]int32{nil: 0},
		locations:  make(map[*profile.Location]int32),
		stacks:     make(map[string]int32),
		attributes: make(map[[2]string]int32),
	}
}

// place returns the index of key's entry in a table. add makes the entry if there is none.
func place[K comparable, V any](known map[K]int32, table *[]V, key K, add func() V) int32 {
	if i, ok := known[key]; ok {
		return i
	}
	v := add() // add may extend other tables, but not this one
	i := int32(len(*table))
	*table = append(*table, v)
	known[key] = i
	return i
}

func (d *dictionary) str(s string) int32 {
	s = utf8Text(s)
	return place(d.strings, &d.out.StringTable, s, func() string { return s })
}

func (d *dictionary) valueType(t *profile.ValueType) *profiles.ValueType {
	return &profiles.ValueType{TypeStrindex: d.str(t.Type), UnitStrindex: d.str(t.Unit)}
}

// attribute returns the place of a label, under OpenTelemetry's name or its own.
func (d *dictionary) attribute(name, value string) int32 {
	return place(d.attributes, &d.out.AttributeTable, [2]string{name, value}, func() *profiles.KeyValueAndUnit {
		return &profiles.KeyValueAndUnit{KeyStrindex: d.str(convention(name)), Value: anyValue(name, value)}
	})
}

// labels returns the attributes of a sample.
func (d *dictionary) labels(s *profile.Sample) []int32 {
	var list []int32
	for _, name := range slices.Sorted(maps.Keys(s.Label)) {
		if v := strings.Join(s.Label[name], ","); name != "" && v != "" {
			list = append(list, d.attribute(name, v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.NumLabel)) {
		if v := s.NumLabel[name]; name != "" && len(v) > 0 {
			list = append(list, d.attribute(name, strconv.FormatInt(v[0], 10)))
		}
	}
	return list
}

func (d *dictionary) stack(path []*profile.Location) int32 {
	indices := make([]int32, len(path))
	key := make([]byte, 0, 4*len(path))
	for i, l := range path {
		indices[i] = d.location(l)
		n := uint32(indices[i])
		key = append(key, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return place(d.stacks, &d.out.StackTable, string(key), func() *profiles.Stack {
		return &profiles.Stack{LocationIndices: indices}
	})
}

func (d *dictionary) location(l *profile.Location) int32 {
	return place(d.locations, &d.out.LocationTable, l, func() *profiles.Location {
		out := &profiles.Location{MappingIndex: d.mapping(l.Mapping), Address: l.Address}
		for _, line := range l.Line {
			out.Lines = append(out.Lines, &profiles.Line{FunctionIndex: d.function(line.Function), Line: line.Line, Column: line.Column})
		}
		return out
	})
}

func (d *dictionary) mapping(m *profile.Mapping) int32 {
	return place(d.mappings, &d.out.MappingTable, m, func() *profiles.Mapping {
		out := &profiles.Mapping{MemoryStart: m.Start, MemoryLimit: m.Limit, FileOffset: m.Offset, FilenameStrindex: d.str(m.File)}
		if m.BuildID != "" {
			out.AttributeIndices = []int32{d.attribute("build_id", m.BuildID)}
		}
		return out
	})
}

func (d *dictionary) function(f *profile.Function) int32 {
	return place(d.functions, &d.out.FunctionTable, f, func() *profiles.Function {
		return &profiles.Function{
			NameStrindex: d.str(f.Name), SystemNameStrindex: d.str(f.SystemName),
			FilenameStrindex: d.str(f.Filename), StartLine: f.StartLine,
		}
	})
}

package informer

import (
	"fmt"
	"runtime/debug"

	"governor/client"
)

// transform applies the Transform function. This is the only place that does, and
// each object passes it once. An error is an *ObjectError.
func (r *Reflector) transform(obj client.Object) (_ client.Object, err error) {
	fn := r.options.transform()
	if fn == nil {
		return obj, nil
	}
	key := keyOf(obj)
	defer func() {
		if p := recover(); p != nil {
			err = &ObjectError{Op: "transform", Key: key, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	obj, err = fn(obj)
	switch {
	case err != nil:
	case obj == nil:
		err = fmt.Errorf("the function returned no object")
	case keyOf(obj) != key:
		err = fmt.Errorf("the function changed the name to %s", keyOf(obj))
	}
	if err != nil {
		return nil, &ObjectError{Op: "transform", Key: key, Err: err}
	}
	return obj, nil
}

// transformed is transform for an object that may be unread then.
func (r *Reflector) transformed(obj client.Object) (client.Object, *UnreadObject) {
	// The function may change what it is given, also when it fails.
	u := UnreadObject{Key: keyOf(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}
	obj, u.Err = r.transform(obj)
	if u.Err != nil {
		return nil, &u
	}
	return obj, nil
}

package manager_test

import (
	"context"
	"errors"
	"fmt"

	"governor/manager"

	"k8s.io/client-go/rest"
)

func Example() {
	m, err := manager.New(&rest.Config{Host: "https://127.0.0.1:6443"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		fmt.Println("working")
		cancel() // or a signal: see SignalContext
		<-ctx.Done()
		fmt.Println("told to stop")
		return nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Start(ctx))
	// Output:
	// working
	// told to stop
	// <nil>
}

// pump is a Runnable with a name, which errors show.
type pump struct{}

func (pump) Name() string                { return "pump" }
func (pump) Start(context.Context) error { return errors.New("no water") }

func ExampleManager_Start_failure() {
	m, _ := manager.New(&rest.Config{Host: "https://127.0.0.1:6443"}, nil)
	_, _ = m.Add(pump{})
	fmt.Println(m.Start(context.Background()))
	// Output: runnable "pump": no water
}

func ExampleHandle_Stop() {
	m, _ := manager.New(&rest.Config{Host: "https://127.0.0.1:6443"}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()

	handle, _ := m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}))
	fmt.Println("stopped:", handle.Stop(ctx)) // the manager goes on
	cancel()
	fmt.Println("manager:", <-ended)
	// Output:
	// stopped: <nil>
	// manager: <nil>
}

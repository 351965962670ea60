package client_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/workflow"
)

// Events of a task may come in any order: what is told follows from all that is known.
func ExampleTasks_Tell() {
	ctx := context.Background()
	c, stop := start()
	defer stop()
	if _, _, err := c.Channels.Put(ctx, posthouse.Channel{Name: "oa", Driver: "discard"}); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.Templates.Install(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.Users.Put(ctx, posthouse.User{ID: "li.na", Roles: []string{"planner"}}); err != nil {
		fmt.Println(err)
		return
	}
	done := workflow.Event{Type: workflow.NodeDone, Task: "1001", Node: "8881"}
	created := workflow.Event{Type: workflow.TaskCreated, Task: "1001", Created: &workflow.Task{
		Name: "Imaging", Creator: "zhang.san", Nodes: []workflow.Node{
			{ID: "8881", Name: "Receive", Users: []string{"zhang.san"}, Next: []string{"8882"}},
			{ID: "8882", Name: "Plan", Roles: []string{"planner"}},
		},
	}}
	for _, event := range []workflow.Event{done, created, done} {
		outcomes, err := c.Tasks.Tell(ctx, event)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(outcomes[0].Event, "is known now")
		for _, told := range outcomes[0].Told {
			fmt.Println("  told:", told.Key)
		}
	}
	task, err := c.Tasks.Get(ctx, "1001")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(task.About.Name, "is", task.State)
	// Output:
	// node.done is known now
	// task.created is known now
	//   told: 0_1001_0
	//   told: 1_1001_8881_0
	// node.done is known now
	// Imaging is running
}

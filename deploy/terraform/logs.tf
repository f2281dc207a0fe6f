# Where deploy/ecs/task-definition.json sends the logs: ECS does not make the group itself.

resource "aws_cloudwatch_log_group" "temporal" {
  name              = "/ecs/temporal"
  retention_in_days = 30
}

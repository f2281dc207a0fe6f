# The IAM roles of Temporal on ECS: the servers connect as a database role without rights over tables, the
# task that runs `dsql schema apply` as admin. No secret is stored anywhere. The names are those of
# deploy/ecs/task-definition.json.

variable "cluster_arn" {
  type        = string
  description = "the Aurora DSQL cluster"
}

variable "name" {
  type        = string
  description = "name of the servers' role; the others are called after it"
  default     = "temporal-dsql"
}

data "aws_caller_identity" "current" {}

data "aws_iam_policy_document" "ecs_trust" {
  statement {
    sid     = "EcsTasks"
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.current.account_id]
    }
  }
}

data "aws_iam_policy_document" "connect" {
  statement {
    sid       = "AuroraDsqlConnect"
    actions   = ["dsql:DbConnect"]
    resources = [var.cluster_arn]
  }
}

data "aws_iam_policy_document" "connect_admin" {
  statement {
    sid       = "AuroraDsqlConnectAdmin"
    actions   = ["dsql:DbConnectAdmin"]
    resources = [var.cluster_arn]
  }
}

resource "aws_iam_role" "server" {
  name               = var.name
  assume_role_policy = data.aws_iam_policy_document.ecs_trust.json
}

resource "aws_iam_role_policy" "server_connect" {
  name   = "connect"
  role   = aws_iam_role.server.id
  policy = data.aws_iam_policy_document.connect.json
}

resource "aws_iam_role_policy_attachment" "server_budget" {
  role       = aws_iam_role.server.name
  policy_arn = aws_iam_policy.budget.arn
}

resource "aws_iam_role_policy_attachment" "server_budget_limiter" {
  count      = var.limiter_table_arn == null ? 0 : 1
  role       = aws_iam_role.server.name
  policy_arn = aws_iam_policy.budget_limiter[0].arn
}

resource "aws_iam_role" "schema" {
  name               = "${var.name}-schema"
  assume_role_policy = data.aws_iam_policy_document.ecs_trust.json
}

resource "aws_iam_role_policy" "schema_connect" {
  name   = "connect-admin"
  role   = aws_iam_role.schema.id
  policy = data.aws_iam_policy_document.connect_admin.json
}

# Pulls the image and writes the log; what runs in the task has none of these rights.
resource "aws_iam_role" "execution" {
  name               = "${var.name}-execution"
  assume_role_policy = data.aws_iam_policy_document.ecs_trust.json
}

resource "aws_iam_role_policy_attachment" "execution" {
  role       = aws_iam_role.execution.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

output "server_role_arn" {
  value = aws_iam_role.server.arn
}

output "schema_role_arn" {
  value = aws_iam_role.schema.arn
}

# The table of a fleet's connection budget, and the rights of the processes that share it. The same as
# `dsql budget setup` makes, with deploy/iam/budget-policy.json.

variable "budget_table" {
  type        = string
  description = "name of the table; DSQL_DISTRIBUTED_CONN_LEASE_TABLE of every process"
  default     = "dsql-budget"
}

variable "budget_protocol" {
  type        = string
  description = "blocks, or leases when the table is shared with the Go plugin"
  default     = "blocks"
  validation {
    condition     = contains(["blocks", "leases"], var.budget_protocol)
    error_message = "blocks or leases"
  }
}

resource "aws_dynamodb_table" "budget" {
  name         = var.budget_table
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "pk"

  attribute {
    name = "pk"
    type = "S"
  }

  ttl {
    attribute_name = "ttl_epoch"
    enabled        = true
  }
}

data "aws_iam_policy_document" "budget" {
  statement {
    actions   = ["dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.budget.arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["dsqlblocks#*", "dsqlconnect#*"]
    }
  }

  dynamic "statement" {
    for_each = var.budget_protocol == "leases" ? [1] : []
    content {
      actions = [
        "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem",
        "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:Scan",
      ]
      resources = [aws_dynamodb_table.budget.arn]
    }
  }
}

resource "aws_iam_policy" "budget" {
  name   = "${var.budget_table}-member"
  policy = data.aws_iam_policy_document.budget.json
}

output "budget_policy_arn" {
  value = aws_iam_policy.budget.arn
}

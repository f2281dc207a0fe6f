# The table of a fleet's connection budget, and the rights of the processes that share it: what
# `dsql budget setup` makes, with deploy/iam/budget-policy.json or budget-leases-policy.json.

variable "budget_table" {
  type        = string
  description = "name of the table; DSQL_DISTRIBUTED_CONN_LEASE_TABLE of every process"
  default     = "dsql-budget"
}

variable "budget_protocol" {
  type        = string
  description = "DSQL_BUDGET of every process: blocks, or leases when the table is shared with the Go plugin"
  default     = "blocks"
  validation {
    condition     = contains(["blocks", "leases"], var.budget_protocol)
    error_message = "blocks or leases"
  }
}

variable "limiter_table_arn" {
  type        = string
  description = "ARN of DSQL_DISTRIBUTED_RATE_LIMITER_TABLE, if leases count connects in a table of their own"
  default     = null
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

data "aws_iam_policy_document" "budget_blocks" {
  statement {
    sid       = "FleetBudgetBlocks"
    actions   = ["dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.budget.arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["dsqlblocks#*"]
    }
  }
}

data "aws_iam_policy_document" "budget_leases" {
  statement {
    sid       = "FleetBudgetLeases"
    actions   = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:GetItem"]
    resources = [aws_dynamodb_table.budget.arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["dsqllease#*", "dsqllease_counter#*", "dsqlconnect#*"]
    }
  }

  statement {
    sid       = "FleetBudgetLeasesCount"
    actions   = ["dynamodb:Scan"]
    resources = [aws_dynamodb_table.budget.arn]
  }
}

data "aws_iam_policy_document" "budget_limiter" {
  count = var.limiter_table_arn == null ? 0 : 1

  statement {
    sid       = "FleetBudgetLimiter"
    actions   = ["dynamodb:UpdateItem"]
    resources = [var.limiter_table_arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["dsqlconnect#*"]
    }
  }
}

resource "aws_iam_policy" "budget_limiter" {
  count  = var.limiter_table_arn == null ? 0 : 1
  name   = "${var.budget_table}-limiter"
  policy = data.aws_iam_policy_document.budget_limiter[0].json
}

resource "aws_iam_policy" "budget" {
  name = "${var.budget_table}-member"
  policy = (var.budget_protocol == "leases" ?
    data.aws_iam_policy_document.budget_leases.json :
  data.aws_iam_policy_document.budget_blocks.json)
}

output "budget_policy_arn" {
  value = aws_iam_policy.budget.arn
}

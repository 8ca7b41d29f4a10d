"""Asks as people type them, by what they ask for: English and Chinese, with neighbours that must stay apart.

They were written before anything was fitted to them, and no two of a family come from one template.
"""

from __future__ import annotations

FAMILIES: dict[str, tuple[str, ...]] = {
    "write tests": (
        "write unit tests for the date parser",
        "Can you add tests for src/billing/invoice.ts?",
        "add some unit tests covering the retry logic",
        "please write tests for the websocket reconnect",
        "the address validator has no tests, write some",
    ),
    "run tests": (
        "run the tests",
        "run all tests and show me the failures",
        "run the test suite for the api package",
        "Please run the tests again in watch mode off",
    ),
    "fix test": (
        "fix the failing test in tests/test_orders.py",
        "test_checkout_total fails since yesterday, fix it please",
        "the snapshot tests are failing, can you fix them",
        "Fix the flaky login test",
        "fix the broken tests in the scheduler package",
    ),
    "commit message": (
        "write a commit message for the staged changes",
        "commit message for this diff please",
        "give me a commit message for what I staged",
        "Write a good commit message for the refactoring",
    ),
    "pull request text": (
        "write a pull request description for this branch",
        "draft the PR description for feature/wishlist",
        "Generate a pull request description from the commits",
        "write the pull request description, keep it short",
    ),
    "changelog": (
        "add a changelog entry for the new export button",
        "update the changelog for 2.4.0",
        "Write changelog entries for everything since v1.9",
        "add an entry to CHANGELOG.md about the timeout fix",
    ),
    "review": (
        "review my changes",
        "review this diff before I push it",
        "Please do a code review of the auth changes",
        "review the changes on this branch and be picky",
        "code review for src/cache.rs please",
    ),
    "security": (
        "check the upload handler for security issues",
        "look for security problems in the payment webhook",
        "Do a security review of the session cookies",
        "are there security issues in the file download endpoint?",
    ),
    "explain": (
        "explain how the event loop works here",
        "Explain what src/core/reducer.ts does",
        "can you explain how the cache invalidation works",
        "explain the build pipeline to me",
    ),
    "docstrings": (
        "add docstrings to the public functions in utils.py",
        "Add missing docstrings in the storage package",
        "write docstrings for the client class",
        "please add google style docstrings to parser.py",
    ),
    "readme": (
        "update the readme with the new install steps",
        "write a README for this package",
        "Update README.md, the flags are out of date",
        "add a quick start section to the readme",
    ),
    "migration": (
        "create a migration that adds a nickname column to users",
        "write the database migration for soft deletes",
        "Add a migration to drop the legacy_tokens table",
        "generate a migration for the new index on orders",
    ),
    "sql": (
        "write a sql query for monthly revenue by country",
        "sql query that finds users without any orders",
        "I need a SQL query: top ten products last week",
        "write me a query that counts refunds per month in sql",
    ),
    "docker image": (
        "make the docker image smaller",
        "reduce the size of the docker image for the worker",
        "our docker image is 2 GB, make it smaller",
        "shrink the backend docker image",
    ),
    "docker compose": (
        "add redis to docker compose",
        "add a postgres service to the docker compose file",
        "add a mailhog service to docker-compose.yml",
    ),
    "upgrade": (
        "upgrade react to 19",
        "upgrade the dependencies to their latest versions",
        "bump lodash to the latest version",
        "upgrade django to the latest LTS version",
    ),
    "remove dead code": (
        "remove dead code from the importer",
        "find and remove dead code in src/legacy",
        "delete unused functions and dead code in helpers.js",
    ),
    "types": (
        "add type hints to the scraper module",
        "add type annotations to config.py",
        "Please add type hints everywhere in the cli",
        "add the missing type hints in models/",
    ),
    "rename": (
        "rename getUser to fetchUser everywhere",
        "rename the class OrderMgr to OrderManager",
        "rename the variable tmp to buffer in encode.c",
        "please rename user_id to account_id across the repo",
    ),
    "deploy": (
        "deploy to staging",
        "deploy this branch to staging",
        "deploy the api to the staging environment please",
        "Deploy the latest main to staging and watch the logs",
    ),
    "zh tests": (
        "给登录模块写单元测试",
        "为订单服务编写单元测试",
        "请帮我给支付回调补充单元测试",
        "写一下购物车的单元测试",
        "帮优惠券计算添加单元测试",
    ),
    "zh fix": (
        "修复首页的报错",
        "登录页面报错了,帮我修复一下",
        "这个接口报错,修复它",
        "修复构建时的报错",
    ),
    "zh translate": (
        "把这份文档翻译成英文",
        "将安装说明翻译成英文",
        "请把错误提示翻译成英文",
        "翻译成英文:欢迎使用本系统",
    ),
    "zh comments": (
        "给这个函数加上中文注释",
        "为工具类添加中文注释",
        "请给爬虫代码补充中文注释",
        "给配置文件加中文注释",
    ),
    "zh explain": (
        "解释一下这段代码",
        "解释一下缓存模块的代码",
        "帮我解释一下这段正则的代码",
        "请解释这段代码的作用",
    ),
}
ALONE = (
    "what is the difference between a mutex and a semaphore?",
    "set up eslint with the airbnb preset",
    "why does the test database grow every night?",
    "write a Makefile for this project",
    "write a Dockerfile for the worker",
    "write a haiku about merge conflicts",
    "convert the tests from mocha to vitest",
    "remove the deprecated migration helper",
    "delete the staging environment",
    "review the pull request template we use",
    "explain the error in the CI log to a beginner in one sentence",
    "把端口从八千改成九千",
    "给仓库添加一个许可证文件",
    "这段代码有没有内存泄漏",
    "把英文注释删掉",
    "list the users who never logged in",
    "make the header sticky",
    "commit and push everything",
)

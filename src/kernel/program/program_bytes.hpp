// A program as bytes and back, for patterns that wait in an index, or in a file, until asked.
#pragma once

#include <cstring>

#include "program/program.hpp"

namespace twigcast::program {

using namespace base;

class ProgramWriter {
public:
    static std::string write(const Program& program) {
        ProgramWriter writer;
        writer.put(program.tests.size());
        for (const NodeTest& test : program.tests) {
            writer.put(static_cast<size_t>(test.kind));
            writer.put(test.any_namespace);
            writer.put(test.any_local);
            writer.put_text(test.space);
            writer.put_text(test.local);
            writer.put_text(test.name);
        }
        writer.put(program.instructions.size());
        for (const Instruction& instruction : program.instructions) {
            writer.put(static_cast<size_t>(instruction.operation));
            writer.put(instruction.descendant);
            writer.put(instruction.test);
            writer.put(instruction.position);
            writer.put(static_cast<size_t>(instruction.comparison));
            writer.put_number(instruction.number);
            writer.put_text(instruction.operand);
            writer.put(instruction.expression);
            writer.put(instruction.is_version_2);
            writer.put(instruction.children_begin);
            writer.put(instruction.children_end);
        }
        writer.put_all(program.children);
        writer.put_all(program.alternatives);
        writer.put(program.expressions.all.size());
        for (const Expression& expression : program.expressions.all) writer.put(expression);
        writer.put_all(program.expressions.children);
        return std::move(writer.bytes_);
    }

private:
    // Seven bits a byte, the lowest first: nearly all numbers here are small.
    void put(size_t number) {
        for (; number >= 128; number >>= 7) bytes_.push_back(static_cast<char>(number | 128));
        bytes_.push_back(static_cast<char>(number));
    }
    void put_number(double number) {
        bytes_.append(reinterpret_cast<const char*>(&number), sizeof(double));
    }
    void put(const Expression& expression) {
        put(static_cast<size_t>(expression.form));
        put(expression.code);
        put(static_cast<size_t>(expression.occurrence));
        put(expression.test);
        put_number(expression.number);
        put_text(expression.text);
        put(expression.children_begin);
        put(expression.children_end);
    }
    void put_text(const std::string& text) {
        put(text.size());
        bytes_ += text;
    }
    void put_all(const std::vector<uint32_t>& numbers) {
        put(numbers.size());
        for (const uint32_t number : numbers) put(number);
    }

    std::string bytes_;
};

class ProgramReader {
public:
    // False where the bytes are no sound program.
    static bool read(std::string_view bytes, Program& program) {
        ProgramReader reader(bytes);
        program = {};
        for (size_t left = reader.count(); left > 0; --left) program.tests.push_back(reader.test());
        for (size_t left = reader.count(); left > 0; --left) {
            program.instructions.push_back(reader.instruction());
        }
        reader.take_all(program.children);
        reader.take_all(program.alternatives);
        for (size_t left = reader.count(); left > 0; --left) {
            program.expressions.all.push_back(reader.expression());
        }
        reader.take_all(program.expressions.children);
        if (!reader.good_ || !reader.rest_.empty()) return false;
        for (const Instruction& instruction : program.instructions) {
            if (instruction.children_begin > instruction.children_end ||
                instruction.children_end > program.children.size()) {
                return false;
            }
        }
        return program.settle();
    }

private:
    explicit ProgramReader(std::string_view bytes) : rest_(bytes) {}

    size_t number(size_t most) {
        size_t value = 0;
        for (int shift = 0; shift < 63; shift += 7) {
            if (rest_.empty()) break;
            const unsigned char byte = static_cast<unsigned char>(rest_[0]);
            rest_.remove_prefix(1);
            value |= static_cast<size_t>(byte & 127) << shift;
            if (byte < 128) {
                if (value > most) break;
                return value;
            }
        }
        good_ = false;
        return 0;
    }

    // How many of something follow: never more than there are bytes.
    size_t count() { return number(rest_.size()); }
    uint32_t small() { return static_cast<uint32_t>(number(0xFFFFFFFF)); }

    std::string text() {
        const size_t length = count();
        if (length > rest_.size()) {
            good_ = false;
            return {};
        }
        std::string text(rest_.substr(0, length));
        rest_.remove_prefix(length);
        return text;
    }

    NodeTest test() {
        NodeTest test;
        test.kind = static_cast<Kind>(number(7));
        test.any_namespace = number(1) != 0;
        test.any_local = number(1) != 0;
        test.space = text();
        test.local = text();
        test.name = text();
        return test;
    }

    Instruction instruction() {
        Instruction instruction;
        instruction.operation = static_cast<Operation>(number(OPERATION_COUNT - 1));
        instruction.descendant = number(1) != 0;
        instruction.test = small();
        instruction.position = small();
        instruction.comparison = static_cast<Comparison>(number(COMPARISON_COUNT - 1));
        instruction.number = real();
        instruction.operand = text();
        instruction.expression = small();
        instruction.is_version_2 = number(1) != 0;
        instruction.children_begin = small();
        instruction.children_end = small();
        return instruction;
    }

    Expression expression() {
        Expression expression;
        expression.form = static_cast<Form>(number(FORM_COUNT - 1));
        expression.code = static_cast<uint8_t>(number(0xFF));
        expression.occurrence = static_cast<Occurrence>(number(3));
        expression.test = small();
        expression.number = real();
        expression.text = text();
        expression.children_begin = small();
        expression.children_end = small();
        return expression;
    }

    double real() {
        double number = 0;
        if (rest_.size() < sizeof(double)) {
            good_ = false;
            return 0;
        }
        std::memcpy(&number, rest_.data(), sizeof(double));
        rest_.remove_prefix(sizeof(double));
        return number;
    }

    void take_all(std::vector<uint32_t>& numbers) {
        for (size_t left = count(); left > 0; --left) numbers.push_back(small());
    }

    std::string_view rest_;
    bool good_ = true;
};

}  // namespace twigcast::program
